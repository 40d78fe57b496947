# SPDX-License-Identifier: Apache-2.0
"""Is a call what ops.def says of its operation?

Raises Refusal: PARAM for parameters that are missing or outside their domain,
SHAPE for tensors that are missing, of another type or that do not fit each
other, UNSUPPORTED for what the description leaves open.  Who answers a call
after this need not check it again.
"""
import math

from .described import ALIASES, OPERATIONS, OUTPUTS, VERSION

SHAPE, PARAM, UNSUPPORTED, NOMEM, DEVICE = 1, 2, 3, 4, 5
_ANY_RANK = ("act.", "dequant.", "format.", "math.", "quant.")


class Refusal(Exception):
    """A status of the protocol and its sentence."""
    status = UNSUPPORTED

    def __init__(self, sentence, status=None):
        super().__init__(sentence)
        self.status = self.status if status is None else status


class Shape(Refusal):
    """A tensor of this call is missing or cannot be what it is."""
    status = SHAPE


class Param(Refusal):
    """A parameter of this call cannot be what it is."""
    status = PARAM


class Unsupported(Refusal):
    """Legal, and nothing that this function does."""
    status = UNSUPPORTED


class NoMemory(Refusal):
    status = NOMEM


def number(text):
    """The number a parameter's text spells, or None."""
    try:
        return float(text)
    except ValueError:
        return None


def _in_domain(domain, text):
    n = number(text)
    if domain == "int":
        return n is not None and abs(n) < 2 ** 31 and n == int(n)
    if domain == "bool":
        return text in ("0", "1")
    if domain == "size":
        return n is not None and math.isfinite(n) and n >= 0 and n == int(n)
    if domain == "real":
        return n is not None
    if domain == "real?":
        return n is not None or text == "none"
    if domain == "name":
        return text != ""
    return text in domain.split("|")


def check_params(op, params):
    for p in op.params:
        if p.key not in params:
            raise Param(f"{op.name}: {p.key} is not given; this library is "
                        f"of mxoracle {VERSION}")
        if not _in_domain(p.domain, params[p.key]):
            raise Param(f"{op.name}: {p.key} cannot be {params[p.key]!r}")
    for key in params:
        if all(key != p.key for p in op.params):
            raise Unsupported(f"{op.name}: there is no parameter {key} here")


def _divisor(text, params):
    if text.isdigit():
        return int(text)
    if text == "pack":
        return 2 if params.get("element") == "e2m1" else 1
    n = number(params.get(text, ""))
    return int(n) if n is not None and n >= 1 else 1


def _extent(axis, params):
    """(name or "", multiple, divisor) of "2*cols", "k/32", "inter", "1"."""
    left, _, right = axis.partition("/")
    divisor = _divisor(right, params) if right else 1
    first, _, second = left.partition("*")
    if first.isdigit():
        return second, int(first), divisor
    return first, int(second) if second else 1, divisor


def _fits(extent, n, dims, params):
    name, multiple, divisor = extent
    if name == "":
        return n == multiple
    if name not in dims:
        told = number(params.get(name, ""))
        if told is not None and 1 <= told < 2 ** 31:
            dims[name] = int(told)
    if name in dims:
        return n == -(-dims[name] * multiple // divisor)
    dims[name] = n * divisor // multiple
    return n * divisor % multiple == 0


def _type_of(kind, params):
    if kind.startswith("$"):
        kind = params[kind[1:]]
    return ALIASES.get(kind, kind)


def _check_tensor(op, field, t, params, dims, any_rank):
    kind = _type_of(field.dtype, params)
    if t.dtype != kind:
        raise Shape(f"{op.name}: {t.name} is {t.dtype}, it must be {kind}")
    if len(t.shape) != len(field.axes):
        raise (Unsupported if any_rank else Shape)(
            f"{op.name}: {t.name} has {len(t.shape)} axes, not "
            f"{len(field.axes)}")
    for axis, n in zip(field.axes, t.shape):
        if not _fits(_extent(axis, params), n, dims, params):
            raise Shape(f"{op.name}: {t!r} does not fit the other shapes")


def is_present(field, params):
    return all(params.get(key) in values.split("|")
               for key, values in field.conditions)


def is_loaded(field, params):
    """Is the tensor what a loader's conversion made of the one described?"""
    return bool(field.key) and params.get(field.key, "none") != "none"


def check(op_name, params, inputs, outputs):
    """The extents of the call's dimensions, by name; Refusal if it is none."""
    op = OPERATIONS[op_name]
    dims = {}
    check_params(op, params)
    for t in list(inputs.values()) + list(outputs.values()):
        if not t.is_dense():
            raise Shape(f"{op.name}: {t!r} has not the bytes of its shape")
    for p in op.params:
        if p.domain == "size" and number(params[p.key]) >= 1:
            dims[p.default] = int(params[p.key])
    any_rank = op.name.startswith(_ANY_RANK)
    for field in op.inputs:
        if not is_present(field, params):
            continue
        if field.name not in inputs:
            raise Shape(f"{op.name}: {field.name} is missing")
        if not is_loaded(field, params):
            _check_tensor(op, field, inputs[field.name], params, dims,
                          any_rank)
        elif inputs[field.name].shape:
            dims.setdefault("experts", inputs[field.name].shape[0])
    return dims


def check_outputs(op_name, params, outputs, dims):
    """What outputs.def says of the outputs, as far as it says anything."""
    op = OPERATIONS[op_name]
    for field in OUTPUTS.get(op_name, []):
        t = outputs.get(field.name)
        if not is_present(field, params):
            continue
        if t is None:
            raise Shape(f"{op.name}: the output {field.name} is missing")
        if field.dtype and t.dtype != _type_of(field.dtype, params):
            raise Shape(f"{op.name}: {t!r} is of another type")
        if field.axes and (len(t.shape) != len(field.axes) or not all(
                _fits(_extent(axis, params), n, dims, params)
                for axis, n in zip(field.axes, t.shape))):
            raise Shape(f"{op.name}: {t!r} does not fit the inputs")
