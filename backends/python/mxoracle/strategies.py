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


def _slots(problem):
    """Strategies of the slots of a record: a smaller slot is a plainer value,
    slot n of a dimension the size n."""
    fixed, dims, params = problem.n_slots()
    free = [problem.is_free(p.key) for p in problem.op.params]
    return ([st.integers(0, (1 << 31) - 1)] * fixed +
            [st.integers(1, (1 << 32) - 1)] * dims +
            [st.integers(0, (1 << 16) - 1) if free[i] else st.just(0)
             for i in range(params)])


def cases(what, batched=False, **declared):
    """Cases of a layout or an operation; declared as in mxoracle.fuzz."""
    problem = Problem(what, declared, batched)
    slots = _slots(problem)

    @st.composite
    def one(draw):
        case = problem.packed([draw(slot) for slot in slots])
        assume(case is not None)
        return case
    return one()
