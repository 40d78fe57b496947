# SPDX-License-Identifier: Apache-2.0
"""Cases to judge a function by: drawn, spelt, answered by the emulator.

A Problem is an operation with what is fixed of it.  Its cases come from the
decoder that `mxoracle fuzz` has, out of random records, the bytes of a fuzzer
or the slots of hypothesis; what is declared narrows them.
"""
from . import safetensors
from .described import OPERATIONS
from .drawn import SLOTS, Draw
from .library import Emulator
from .limits import Between, Limits, same_value
from .tensor import Tensor

TRIES = 400
# What a smaller call may have instead of an extent, the plainest first.
SMALLER = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64,
           65, 96, 127, 128, 129, 160, 192, 255, 256, 257, 320, 384, 512]


def _names(axes):
    return [part for axis in axes for part in axis.split("/")[0].split("*")
            if part and not part.isdigit()]


def _pairs(text):
    """{key: value} of "op:key=value,..."."""
    return dict(e.split("=", 1) for e in text.partition(":")[2].split(",")
                if e)


class Problem:
    """what: a layout ("flashinfer.128x4", with "/*" behind it whatever its
    parameters are), an operation ("quant.mx"), either with ":key=value,...";
    declared: values of parameters and extents of dimensions, as in mx.op."""

    def __init__(self, what, declared=None, batched=False, emulator=None):
        self.emulator = emulator or Emulator()
        op, _, rest = what.partition(":")
        declared = dict(declared or {})
        if op not in OPERATIONS and op.split("/")[0] in \
                self.emulator.layouts():
            declared["layout"], op = op, "layout.apply"
        for entry in filter(None, rest.split(",")):
            key, _, value = entry.partition("=")
            declared[key] = int(value) if value.isdigit() else value
        if op.startswith("moe.") or op.startswith("select."):
            raise ValueError(f"{op} is judged by mxoracle run --exec: its "
                             "inputs hang together")
        self.limits = Limits(op, declared)
        self.op, self.batched = self.limits.op, batched
        self.is_layout = op == "layout.apply"
        if self.is_layout and not batched and "experts" not in declared:
            self.limits.dims["experts"] = Limits(
                op, {"experts": 1}).dims["experts"]
        self.dims = []
        for field in self.op.inputs:
            self.dims += [n for n in _names(field.axes) if n not in self.dims]
        pins = self._pins()
        self.drawn = Draw(self.op.name + (":" if pins else "") + ",".join(
            f"{k}={v}" for k, v in pins.items()))

    def _pins(self):
        """Keys with one value, which the draw leaves alone."""
        pins = {}
        for p in self.op.params:
            values = self.limits.params.get(p.key)
            if isinstance(values, Between):
                values = [p.default]
            if values is not None and len(values) == 1:
                pins[p.key] = values[0]
        for dim, limit in self.limits.dims.items():
            if limit.among is not None and len(limit.among) == 1:
                pins[dim] = limit.among[0]
        return pins

    def is_free(self, key):
        values = self.limits.params.get(key)
        return values is None or not isinstance(values, Between) and (
            len(values) > 1 or values[0].endswith("/*"))

    def _is_declared(self, key, text):
        values = self.limits.params.get(key)
        if values is None:
            return True
        if isinstance(values, Between):
            return values.holds(text)
        return any(same_value(v, text) or v.endswith("/*") and
                   text.split("/")[0] == v[:-2] for v in values)

    def _fit(self):
        """The case at hand brought to what is declared; False if it cannot
        be."""
        pairs, seed = _pairs(self.drawn.whole), self.drawn.seed
        before = dict(pairs)
        for key in pairs:
            if not self._is_declared(key, pairs[key]):
                values = self.limits.params[key]
                pairs[key] = values[seed % len(values)]
        for dim, limit in self.limits.dims.items():
            if dim in pairs:
                pairs[dim] = str(limit.nearest(int(pairs[dim])))
        return pairs == before or self.drawn.parse(self._text(pairs), seed)

    def _text(self, pairs):
        return f"{self.op.name}:" + ",".join(f"{k}={v}"
                                             for k, v in pairs.items())

    def _case(self):
        """The Case at hand; None where the emulator refuses its values."""
        answer = self.drawn.answer()
        return None if answer is None else Case(self, *answer)

    def start(self, seed):
        """What is drawn from here on depends on the seed alone."""
        self.drawn.start(seed)

    def draw(self):
        """The next Case; None where none can be drawn as declared."""
        for _ in range(TRIES):
            case = self._case() if self.drawn.random() and self._fit() else None
            if case is not None:
                return case
        return None

    def decode(self, record):
        """The Case that any bytes are, or None for a call to be refused."""
        return self._case() if self.drawn.decode(record) and self._fit() \
            else None

    def packed(self, slots):
        """The Case of slots: SLOTS, dims, parameters; or None."""
        return self.decode(self.drawn.pack(slots))

    def n_slots(self):
        return len(SLOTS), len(self.dims), len(self.op.params)

    def spelt(self, text, seed=1):
        """The Case that Case.text spells."""
        case = None
        if text.partition(":")[0] == self.op.name and \
                self.drawn.parse(text, seed):
            case = self._case()
        if case is None:
            raise ValueError(f"{text!r} is no case of {self.op.name} that the "
                             f"emulator takes: {self.drawn.why}")
        return case

    def varied(self, case, seed=None, **changes):
        """A Case with other values of some keys, or None."""
        pairs = dict(case.pairs, **{k: str(v) for k, v in changes.items()})
        seed = case.seed if seed is None else seed
        return self._case() if self.drawn.parse(self._text(pairs), seed) \
            else None

    def is_plainer(self, key, default, case):
        """May a parameter have its default instead?"""
        return case.texts.get(key, default) != default and \
            self._is_declared(key, default)

    def smaller(self, dim, extent):
        """Extents below one that are declared."""
        limit = self.limits.dims.get(dim)
        step = limit.multiple or 1 if limit else 1
        some = set(SMALLER) | {step * k for k in range(1, 10)} | {
            extent // 2, extent - 1}
        some |= set(limit.among or ()) if limit else set()
        return [n for n in sorted(some) if 0 < n < extent and
                (limit is None or limit.why_not(n) is None)]


class Case:
    """One call: .text and .seed, which spell it, .inputs, .expected (what the
    emulator answers)."""

    def __init__(self, problem, inputs, outputs):
        self.problem = problem
        self.text, self.seed = problem.drawn.text, problem.drawn.seed
        self.pairs = _pairs(problem.drawn.whole)
        self.texts = {p.key: self.pairs[p.key] for p in problem.op.params
                      if p.key in self.pairs}
        self.dims = {d: int(self.pairs[d]) for d in problem.dims
                     if d in self.pairs}
        self.inputs = inputs
        self.expected = {t.name: t for t in outputs}

    def __repr__(self):
        return f"<{self.text}>"

    def save(self, path):
        """A vector: inputs and the right outputs."""
        rows = [Tensor(f"in.{t.name}", t.dtype, t.shape, t.memory)
                for t in self.inputs]
        rows += [Tensor(f"out.{t.name}", t.dtype, t.shape, t.memory)
                 for t in self.expected.values()]
        text = " ".join(f"{k}={v}" for k, v in self.texts.items())
        safetensors.write(path, rows, {
            "op": self.problem.op.name, "params_text": text,
            "case": self.text, "seed": str(self.seed),
            "made_by": "mxoracle emulator"})

    def check(self, function, arrays=None):
        """AssertionError with the finding, if the function answers wrongly."""
        from .hunt import Counterexample, judge
        finding = judge(self, function, arrays)
        if finding is not None:
            raise Counterexample(self, finding)


def load_case(path):
    """The Case of a file that keep= or Case.save wrote."""
    tensors, meta = safetensors.read(path)
    text, pairs = meta.get("case", ""), _pairs(meta.get("case", ""))
    problem = Problem(text.partition(":")[0],
                      {"layout": pairs["layout"]} if "layout" in pairs else {},
                      batched=pairs.get("experts", "1") != "1")
    case = problem.spelt(text, int(meta.get("seed", "1")))
    for t in case.inputs:
        t.memory = tensors[f"in.{t.name}"].memory
    case.expected = {n[4:]: Tensor(n[4:], t.dtype, t.shape, t.memory)
                     for n, t in tensors.items() if n.startswith("out.")}
    return case
