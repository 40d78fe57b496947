# SPDX-License-Identifier: Apache-2.0
"""What an author declares of an operation, and what follows from it.

A parameter that is not named keeps its default, and no other value is taken.
A dimension that is not named may have any extent.
"""
import math

from .described import OPERATIONS
from .signature import Unsupported, is_present, number


class Between:
    """Numbers from least to most; None leaves an end open."""

    def __init__(self, least=None, most=None):
        self.least, self.most = least, most
        for end in (least, most):
            if end is not None and (not isinstance(end, (int, float)) or
                                    not math.isfinite(end)):
                raise ValueError(f"an end of a range is a finite number, not "
                                 f"{end!r}")
        if None not in (least, most) and least > most:
            raise ValueError(f"least {least} is above most {most}")

    def declared(self):
        ends = {"min": self.least, "max": self.most}
        return {k: v for k, v in ends.items() if v is not None}

    def holds(self, text):
        n = number(text)
        return n is not None and (self.least is None or n >= self.least) and (
            self.most is None or n <= self.most)


def _is_count(n):
    return isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2 ** 63


class Extent:
    """Extents of a dimension: multiples, least, most, or a list of them."""

    def __init__(self, multiple=None, least=None, most=None, among=None):
        self.multiple, self.least, self.most = multiple, least, most
        self.among = None if among is None else sorted(among)
        for name in ("multiple", "least", "most"):
            n = getattr(self, name)
            if n is not None and not _is_count(n):
                raise ValueError(f"{name} of a dimension is a count, not {n!r}")
        for n in self.among or ():
            if not _is_count(n):
                raise ValueError(f"an extent is a count, not {n!r}")
        if multiple == 0 or self.among == []:
            raise ValueError("no extent at all is declared")
        if None not in (least, most) and least > most:
            raise ValueError(f"least {least} is above most {most}")

    def declared(self):
        rows = {"multiple": self.multiple, "least": self.least,
                "most": self.most, "in": self.among}
        return {k: v for k, v in rows.items() if v is not None}

    def why_not(self, n):
        """What n offends against, in words; None if nothing."""
        if self.multiple is not None and n % self.multiple != 0:
            return f"is no multiple of {self.multiple}"
        if self.least is not None and n < self.least:
            return f"is below {self.least}"
        if self.most is not None and n > self.most:
            return f"is above {self.most}"
        if self.among is not None and n not in self.among:
            return f"is not among {self.among}"
        return None

    def nearest(self, n):
        """n, or an extent near it that is declared."""
        if self.why_not(n) is None:
            return n
        if self.among is not None:
            return self.among[n % len(self.among)]
        step, least = self.multiple or 1, self.least or 1
        n = max(-(-n // step), -(-least // step)) * step
        return n if self.most is None else min(n, self.most // step * step)


def text_of(value):
    """A Python value as a parameter's text: True 1, None none, 7.0 7."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("a parameter cannot be NaN")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def same_value(a, b):
    return a == b or (number(a) is not None and number(a) == number(b))


def _as_extent(value):
    if isinstance(value, Extent):
        return value
    if isinstance(value, (list, tuple, set, range)):
        return Extent(among=list(value))
    return Extent(among=[value])


def _as_values(p, value):
    """Texts of a parameter, a Between, or None for every value."""
    if value is Ellipsis:
        return None
    if isinstance(value, Between):
        return value
    many = value if isinstance(value, (list, tuple, set, range)) else [value]
    texts = [text_of(v) for v in many]
    closed = p.domain.split("|") if "|" in p.domain else None
    for text in texts:
        if closed is not None and text not in closed:
            raise ValueError(f"{p.key} cannot be {text!r}: {p.domain}")
    return texts


def dimensions(op):
    """Names of the extents that stand in the description of an operation."""
    names = set()
    for field in op.inputs:
        for axis in field.axes:
            for part in axis.split("/")[0].split("*"):
                if part and not part.isdigit():
                    names.add(part)
    return names


class Limits:
    """The declaration of one function for one operation."""

    def __init__(self, op_name, declared, dtypes=None, distinct_ids=False):
        if op_name not in OPERATIONS:
            raise ValueError(f"there is no operation {op_name!r}; mxoracle "
                             "list names them")
        self.op = OPERATIONS[op_name]
        self.dims, self.params = {}, {}
        self.dtypes = {k: [v] if isinstance(v, str) else list(v)
                       for k, v in (dtypes or {}).items()}
        self.distinct_ids = distinct_ids
        keys = {p.key: p for p in self.op.params}
        for p in self.op.params:
            if p.domain != "size":
                self.params[p.key] = [p.default]
        for word, value in declared.items():
            self._declare(word.rstrip("_"), value, keys)

    def _declare(self, word, value, keys):
        if word in keys:
            self.params[word] = _as_values(keys[word], value)
        elif word in dimensions(self.op):
            self.dims[word] = _as_extent(value)
        else:
            raise ValueError(
                f"{self.op.name} has neither a parameter nor a dimension "
                f"{word!r}: parameters {' '.join(keys)}; dimensions "
                f"{' '.join(sorted(dimensions(self.op)))}")

    def declared(self):
        """The entry of this operation in the handshake."""
        params = {}
        for key, values in self.params.items():
            if values is not None:
                params[key] = (values.declared()
                               if isinstance(values, Between) else values)
        entry = {"params": params, "calls": "legal"}
        if self.dims:
            entry["dims"] = {k: e.declared() for k, e in self.dims.items()}
        if self.dtypes:
            entry["dtypes"] = self.dtypes
        if self.distinct_ids:
            entry["ids"] = "distinct"
        return entry

    def check(self, params, dims, inputs):
        """Unsupported, with a sentence, for a call outside."""
        for key, values in self.params.items():
            text = params[key]
            if values is None:
                continue
            if not (values.holds(text) if isinstance(values, Between)
                    else any(same_value(text, v) for v in values)):
                raise Unsupported(f"{key}={text} is not declared")
        for name, extent in self.dims.items():
            why = extent.why_not(dims[name]) if name in dims else None
            if why is not None:
                raise Unsupported(f"{name}={dims[name]} {why}")
        for name, kinds in self.dtypes.items():
            for t in inputs.values():
                if name in (t.name, "*") and t.dtype not in kinds:
                    raise Unsupported(f"{t!r} is not declared")

    def present(self, params):
        """Names of the inputs that a call with these parameters has."""
        return [f.name for f in self.op.inputs if is_present(f, params)]
