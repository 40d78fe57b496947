# SPDX-License-Identifier: Apache-2.0
"""Cases to judge a function by: drawn, spelt, answered by the emulator.

A Problem is an operation with what is fixed of it.  Its cases are drawn from a
source of choices, so that random numbers, the bytes of a fuzzer and hypothesis
draw alike.
"""
import array
import itertools
import random

from . import safetensors, signature
from .described import ALIASES, OPERATIONS, SIZES
from .library import Emulator
from .limits import Between, Limits
from .tensor import Tensor, product

# Around granules, tails and powers of two; the plainest first.
SIZES_DRAWN = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63,
               64, 65, 96, 127, 128, 129, 160, 192, 255, 256, 257, 320, 384,
               512]
LONG = [65536, 65537, 65536 + 128]  # where an index of 16 bits ends
EXPERTS = [1, 2, 3, 5]
MOST_ELEMENTS, MOST_LONG, MOST_LISTED, TRIES = 1 << 16, 1 << 20, 20000, 400
KINDS = ["coded", "random", "shifted"]


class RandomSource:
    def __init__(self, seed):
        self._random = random.Random(seed)

    def below(self, n):
        return self._random.randrange(n)


class ByteSource:
    """Choices from the bytes of a fuzzer; zeros behind their end."""

    def __init__(self, data):
        self._data, self._at = data, 0

    def below(self, n):
        value, room = 0, 1
        while room < n:
            byte = self._data[self._at] if self._at < len(self._data) else 0
            value, room = value << 8 | byte, room << 8
            self._at += 1
        return value % n


def _names(axes):
    return [part for axis in axes for part in axis.split("/")[0].split("*")
            if part and not part.isdigit()]


class Problem:
    """what: a layout ("flashinfer.128x4"), an operation ("quant.mx"), either
    with ":key=value,..."; declared: values of parameters and extents of
    dimensions, as in mx.op."""

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
        self.dims = []
        for field in self.op.inputs:
            self.dims += [n for n in _names(field.axes) if n not in self.dims]
        if self.is_layout and not batched and "experts" not in declared:
            self.limits.dims["experts"] = Limits(
                op, {"experts": 1}).dims["experts"]
        self._legal, self._known, self._all = {}, {}, {}

    def values(self, key):
        """Texts that a parameter may have."""
        given = self.limits.params[key]
        p = next(p for p in self.op.params if p.key == key)
        if given is None:
            return p.domain.split("|") if "|" in p.domain else [p.default]
        return [p.default] if isinstance(given, Between) else given

    def extents(self, dim):
        limit = self.limits.dims.get(dim)
        wide = EXPERTS if dim == "experts" else SIZES_DRAWN
        if limit is None:
            return wide
        if limit.among is not None:
            return limit.among
        step = limit.multiple or 1
        some = sorted(set(wide) | {step * k for k in (1, 2, 3, 4, 5, 8, 9)})
        return [n for n in some if limit.why_not(n) is None]

    def inputs(self, texts, dims):
        """Tensors without bytes; an extent that is no whole number: None."""
        found = []
        for field in self.op.inputs:
            if not signature.is_present(field, texts):
                continue
            shape = []
            for axis in field.axes:
                name, multiple, divisor = signature._extent(axis, texts)
                n = (dims[name] if name else 1) * multiple
                if n % divisor and name:
                    return None
                shape.append(n // divisor if name else multiple)
            kind = field.dtype
            kind = texts[kind[1:]] if kind.startswith("$") else kind
            found.append(Tensor(field.name, ALIASES.get(kind, kind), shape,
                                None))
        return found

    def accepts(self, texts, dims):
        key = tuple(texts.values()) + tuple(dims.values())
        if key not in self._known:
            tensors = self.inputs(texts, dims)
            legal = tensors is not None and max(
                product(t.shape) for t in tensors) <= MOST_LONG and \
                self.emulator.accepts(self.op.name, texts, tensors)
            self._known[key] = legal
            if legal:
                self._legal.setdefault(tuple(texts.values()), []).append(dims)
        return self._known[key]

    def legal(self, texts):
        """All extents that can be drawn, the smallest first."""
        key = tuple(texts.values())
        if key not in self._all:
            some = itertools.product(*[self.extents(d) for d in self.dims])
            rows = [dict(zip(self.dims, n)) for n in itertools.islice(
                (n for n in some if product(n) <= MOST_ELEMENTS), MOST_LISTED)]
            self._all[key] = sorted(
                (r for r in rows if self.accepts(texts, r)),
                key=lambda r: (product(r.values()), tuple(r.values())))
        return self._all[key]

    def _draw_dims(self, source, texts):
        known = self._legal.get(tuple(texts.values()), [])
        if len(known) > 50 and source.below(4):
            return known[source.below(len(known))]
        for _ in range(TRIES):
            dims = {d: self._draw_extent(source, d) for d in self.dims}
            most = MOST_LONG if "rows" in self.limits.dims else MOST_ELEMENTS
            if self.is_layout and "rows" not in self.limits.dims and \
                    source.below(256) == 255:
                dims["rows"], most = LONG[source.below(len(LONG))], MOST_LONG
            if product(dims.values()) <= most and self.accepts(texts, dims):
                return dims
        known = known or self.legal(texts)
        return known[source.below(len(known))] if known else None

    def _draw_extent(self, source, dim):
        some = self.extents(dim)
        return some[min(source.below(len(some)), source.below(len(some)))]

    def draw(self, source, from_list=False):
        """A Case, or None where none is legal. from_list: equal choices are
        equal cases, and smaller ones smaller cases."""
        texts = {}
        for p in self.op.params:
            if p.domain != "size":
                values = self.values(p.key)
                texts[p.key] = values[source.below(len(values))]
        kind = KINDS[source.below(len(KINDS))]
        seed = source.below(1 << 32)
        if from_list:
            rows = self.legal(texts)
            dims = rows[source.below(len(rows))] if rows else None
        else:
            dims = self._draw_dims(source, texts)
        return None if dims is None else Case(self, texts, dims, kind, seed)

    def spelt(self, text):
        """The Case that Case.text spells."""
        op, _, rest = text.partition(":")
        pairs = dict(e.split("=", 1) for e in rest.split(",") if e)
        kind, _, seed = pairs.pop("data", "random/1").partition("/")
        texts = {p.key: pairs.pop(p.key, p.default) for p in self.op.params
                 if p.domain != "size"}
        try:
            dims = {d: int(pairs.pop(d)) for d in self.dims}
            if op != self.op.name or pairs or kind not in KINDS:
                raise ValueError
            case = Case(self, texts, dims, kind, int(seed))
        except (KeyError, ValueError):
            raise ValueError(f"{text!r} is no case of {self.op.name}") from None
        if not self.accepts(texts, dims):
            raise ValueError(f"the emulator refuses {text}")
        return case


def _bytes_of(kind, seed, t, is_whole):
    """Bytes of a tensor: random, or its elements' numbers, or those plus the
    seed. Where values mean numbers, only random ones."""
    n, size = product(t.shape), SIZES[t.dtype]
    if kind == "random" or not is_whole:
        made = random.Random(f"{seed} {t.name}").randbytes(n * size)
        if t.dtype == "bool":
            made = bytes(b & 1 for b in made)
        return bytearray(made)
    start = seed % 65536 if kind == "shifted" else 0
    if size == 1:
        plane = seed % 3 if n > 256 else 0
        numbers = array.array("I", range(start, start + n)).tobytes()
        return bytearray(numbers[plane::4])
    code = {2: "H", 4: "I", 8: "Q"}[size]
    mask = (1 << 8 * size) - 1
    return bytearray(array.array(
        code, [i & mask for i in range(start, start + n)]).tobytes())


class Case:
    """One call: .text, .inputs, .expected (what the emulator answers)."""

    def __init__(self, problem, texts, dims, kind, seed):
        self.problem, self.texts, self.dims = problem, texts, dims
        self.kind, self.seed = kind, seed
        self.inputs = problem.inputs(texts, dims)
        for t in self.inputs:
            t.memory = memoryview(_bytes_of(kind, seed, t, problem.is_layout))
        self._expected = None

    @property
    def text(self):
        pairs = list(self.dims.items())
        pairs += [(p.key, self.texts[p.key]) for p in self.problem.op.params
                  if p.key in self.texts and self.texts[p.key] != p.default or
                  p.key == "layout"]
        pairs.append(("data", f"{self.kind}/{self.seed}"))
        return f"{self.problem.op.name}:" + ",".join(
            f"{k}={v}" for k, v in pairs)

    def __repr__(self):
        return f"<{self.text}>"

    @property
    def expected(self):
        """{name: Tensor}; Refusal if the emulator refuses the values."""
        if self._expected is None:
            run = self.problem.emulator.run
            self._expected = {t.name: t for t in run(
                self.problem.op.name, self.texts, self.inputs)}
        return self._expected

    def save(self, path):
        """A vector: inputs and the right outputs."""
        rows = [Tensor(f"in.{t.name}", t.dtype, t.shape, t.memory)
                for t in self.inputs]
        rows += [Tensor(f"out.{t.name}", t.dtype, t.shape, t.memory)
                 for t in self.expected.values()]
        text = " ".join(f"{k}={v}" for k, v in self.texts.items())
        safetensors.write(path, rows, {
            "op": self.problem.op.name, "params_text": text,
            "case": self.text, "made_by": "mxoracle emulator"})

    def check(self, function, arrays=None):
        """AssertionError with the finding, if the function answers wrongly."""
        from .hunt import Counterexample, judge
        finding = judge(self, function, arrays)
        if finding is not None:
            raise Counterexample(self, finding)


def load_case(path):
    """The Case of a file that keep= or Case.save wrote."""
    tensors, meta = safetensors.read(path)
    text = meta.get("case", "")
    op, _, rest = text.partition(":")
    layout = dict(e.split("=", 1) for e in rest.split(",") if "=" in e)
    declared = {"layout": layout["layout"]} if "layout" in layout else {}
    problem = Problem(op, declared, batched=layout.get("experts", "1") != "1")
    case = problem.spelt(text)
    for t in case.inputs:
        t.memory = tensors[f"in.{t.name}"].memory
    case._expected = {n[4:]: Tensor(n[4:], t.dtype, t.shape, t.memory)
                      for n, t in tensors.items() if n.startswith("out.")}
    return case
