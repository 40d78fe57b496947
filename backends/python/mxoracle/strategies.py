# SPDX-License-Identifier: Apache-2.0
"""Strategies of hypothesis that draw cases and make them small.

    @given(case=mx.strategies.cases("layout.apply", layout="flashinfer.128x4"))
    def test_my_swizzle(case):
        case.check(my_swizzle)
"""
from .cases import Problem

try:
    from hypothesis import assume, strategies as st
except ImportError:
    raise ImportError(
        "mxoracle.strategies needs the package hypothesis") from None


class _Drawn:
    """Choices that hypothesis makes smaller."""

    def __init__(self, draw):
        self._draw = draw

    def below(self, n):
        return self._draw(st.integers(0, n - 1))


def cases(what, batched=False, **declared):
    """Cases of a layout or an operation; declared as in mxoracle.fuzz."""
    problem = Problem(what, declared, batched)

    @st.composite
    def one(draw):
        case = problem.draw(_Drawn(draw), from_list=True)
        assume(case is not None)
        return case
    return one()
