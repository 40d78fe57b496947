# SPDX-License-Identifier: Apache-2.0
"""One call, and the function that answers it."""
import inspect

from . import signature
from .limits import Limits
from .signature import Param, Shape, Unsupported, number
from .tensor import WrongAnswer

_KINDS = ("numpy", "torch", "jax", "tensor")


class Call:
    """op, texts (what a plugin gets), params (typed), dims, inputs, outputs."""

    def __init__(self, op, texts, inputs, outputs):
        self.op, self.texts = op, dict(texts)
        self.inputs = {t.name: t for t in inputs}
        order = signature.OPERATIONS[op].outputs if \
            op in signature.OPERATIONS else []
        named = {t.name: t for t in outputs}
        self.outputs = {n: named[n] for n in order if n in named}
        self.dims = {}

    @property
    def params(self):
        domains = {p.key: p.domain for p in signature.OPERATIONS[self.op].params}
        return {k: _typed(domains.get(k, ""), v) for k, v in self.texts.items()}


def _typed(domain, text):
    if domain == "bool":
        return text == "1"
    if domain in ("int", "size"):
        return int(float(text))
    if domain in ("real", "real?"):
        return None if text == "none" else number(text)
    return text


def check_ids(call):
    """Ids and map entries of a layer that point past the last expert."""
    if "topk_ids" not in call.inputs or not call.op.startswith("moe."):
        return
    experts = call.dims.get("experts")
    if experts is None:
        return
    mapped = call.inputs.get("expert_map")
    entries = None if mapped is None else list(mapped.view())
    room = experts if entries is None else len(entries)
    for e in set(call.inputs["topk_ids"].view()):
        if e >= room:
            raise Param(f"id {e} is beyond the last of {room} experts")
        if entries is not None and e >= 0 and entries[e] >= experts:
            raise Param(f"expert_map sends id {e} to {entries[e]}, beyond the "
                        f"last of {experts} experts")


def check_distinct(call):
    ids = call.inputs["topk_ids"]
    flat, k = ids.view().tolist(), ids.shape[1]
    for t in range(ids.shape[0]):
        mine = [e for e in flat[t * k:(t + 1) * k] if e >= 0]
        if len(set(mine)) != len(mine):
            raise Unsupported(f"token {t} names an expert twice")


class Subject:
    """A function under @op: what it takes, and how it is called."""

    def __init__(self, function, op_name, declared, arrays="numpy",
                 device=None, prepare=None, kernel=None, dtypes=None,
                 distinct_ids=False):
        if arrays not in _KINDS:
            raise ValueError(f"arrays is one of {', '.join(_KINDS)}, not "
                             f"{arrays!r}")
        self.function, self.prepare = function, prepare
        self.limits = Limits(op_name, declared, dtypes, distinct_ids)
        self.arrays, self.device = arrays, device
        self.kernel = kernel or function.__name__
        for f in (function, prepare):
            if f is not None:
                _check_names(f, self.limits, prepare is not None)

    def check(self, call):
        """Refusal unless the call is legal and declared; fills call.dims."""
        call.dims = signature.check(call.op, call.texts, call.inputs,
                                    call.outputs)
        self.limits.check(call.texts, call.dims, call.inputs)
        signature.check_outputs(call.op, call.texts, call.outputs,
                                dict(call.dims))
        check_ids(call)
        if self.limits.distinct_ids and "topk_ids" in call.inputs:
            check_distinct(call)
        if not call.outputs:
            raise Shape(f"{call.op}: there is no output")

    def arguments(self, function, call, more):
        """Values for the names of a function's parameters."""
        typed = call.params
        values = {}
        for name in inspect.signature(function).parameters:
            key = name.rstrip("_")
            if name in more:
                values[name] = more[name]
            elif key == "call":
                values[name] = call
            elif key in call.inputs:
                values[name] = self.array(call.inputs[key])
            elif key in typed:
                values[name] = typed[key]
            elif key in call.dims:
                values[name] = call.dims[key]
            elif key in call.outputs and self.device is None:
                values[name] = self.array(call.outputs[key])
            else:
                values[name] = None
        return values

    def array(self, t):
        if self.arrays == "torch":
            return t.torch(self.device)
        return t if self.arrays == "tensor" else getattr(t, self.arrays)()

    def bind(self, call):
        """Everything but the computation: a function without arguments."""
        more = {}
        if self.prepare is not None:
            more = self.prepare(**self.arguments(self.prepare, call, {}))
            if not isinstance(more, dict):
                more = {"prepared": more}
        values = self.arguments(self.function, call, more)
        return lambda: self.function(**values)

    def answer(self, call):
        """Check, compute, store; the name of the kernel."""
        self.check(call)
        store(call, self.bind(call)())
        return self.kernel


def store(call, result):
    """The function's answer into the outputs: all of them, or none."""
    if result is None:
        return
    if isinstance(result, dict):
        named = result
    else:
        many = result if isinstance(result, tuple) else (result,)
        if len(many) != len(call.outputs):
            raise WrongAnswer(f"the function answers {len(many)} tensors, the "
                              f"call has {len(call.outputs)}")
        named = dict(zip(call.outputs, many))
    if set(named) != set(call.outputs):
        raise WrongAnswer(f"the function answers {sorted(named)}, the call "
                          f"has {sorted(call.outputs)}")
    copies = [(t, t.accept(named[name])) for name, t in call.outputs.items()]
    for t, put in copies:
        put()


def _check_names(function, limits, prepared):
    """Parameters of a function that nothing could ever fill."""
    op = limits.op
    known = {f.name for f in op.inputs} | set(op.outputs) | {"call"}
    known |= {p.key for p in op.params} | {p.default for p in op.params
                                           if p.domain == "size"}
    for field in op.inputs:
        for axis in field.axes:
            known |= {w for w in axis.replace("*", "/").split("/")}
    for name, p in inspect.signature(function).parameters.items():
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            raise ValueError(f"{function.__name__}: *{name} has no name that "
                             "a tensor could be given to")
        if name.rstrip("_") not in known and not prepared:
            raise ValueError(f"{function.__name__}: {op.name} has no tensor, "
                             f"parameter or dimension {name!r}")
