# SPDX-License-Identifier: Apache-2.0
"""A wrong answer in a sentence: how many bytes, where they belong, and the
known mistake that gives exactly these bytes."""
from .described import SIZES
from .tensor import Tensor, product

ENOUGH, MANY = 16, 1 << 13
_NIBBLES = [
    ("the nibbles of every byte are swapped",
     bytes((b << 4 | b >> 4) & 255 for b in range(256))),
    ("the high nibble of every byte is 0", bytes(b & 15 for b in range(256))),
    ("the low nibble of every byte is 0", bytes(b & 240 for b in range(256))),
    ("the high nibble of every byte is a copy of the low one",
     bytes((b & 15) * 17 for b in range(256))),
    ("the low nibble of every byte is a copy of the high one",
     bytes((b >> 4) * 17 for b in range(256))),
]


def _layout(case, layout, memory):
    """Memory of the input, or of other bytes for it, in a layout; None."""
    x = case.inputs[0]
    other = Tensor("x", x.dtype, x.shape, memoryview(bytearray(memory)))
    try:
        made = case.problem.emulator.run(
            "layout.apply", dict(case.texts, layout=layout), [other])
        return bytes(made[0].memory)
    except Exception:
        return None


def _inverted(case):
    return bytes(b ^ 255 for b in case.inputs[0].memory)


def sources(case):
    """For each element of the answer the element of x it holds, -1 for a pad.
    The emulator is asked where numbered elements arrive."""
    x = case.inputs[0]
    n, size = product(x.shape), SIZES[x.dtype]
    layout = case.texts["layout"]
    right = _layout(case, layout, x.memory)
    other = _layout(case, layout, _inverted(case))
    if right is None or other is None or len(right) % size:
        return None
    found = [0] * (len(right) // size)
    for plane in range(3):
        numbered = b"".join(bytes([i >> 8 * plane & 255]) * size
                            for i in range(n))
        made = _layout(case, layout, numbered)
        for k in range(len(found)):
            found[k] |= made[k * size] << 8 * plane
    return [-1 if right[k * size] == other[k * size] else found[k]
            for k in range(len(found))]


def _place(case, element):
    """"[r,c]" of an element of x."""
    shape, index = case.inputs[0].shape, []
    for extent in reversed(shape):
        index.insert(0, element % extent)
        element //= extent
    if len(index) == 3 and not case.problem.batched:
        index = index[1:]
    return "x[" + ",".join(map(str, index)) + "]"


def wrong_elements(case, want, raw):
    """Elements that differ and are not left undefined by the vendor."""
    valid = case.expected.get("valid") if case.problem.is_layout else None
    size = len(raw) // max(1, want.size)
    try:
        import numpy as np
    except ImportError:
        return [i for i in range(want.size)
                if raw[i * size:(i + 1) * size] !=
                want.memory[i * size:(i + 1) * size] and
                (valid is None or valid.memory[i])]
    differs = (np.frombuffer(raw, np.uint8) !=
               np.frombuffer(want.memory, np.uint8)).reshape(-1, size).any(1)
    if valid is not None:
        differs &= np.frombuffer(valid.memory, np.uint8) != 0
    return np.flatnonzero(differs).tolist()


def _range(case, elements):
    """Rows and columns that these elements of x come from."""
    cols = case.inputs[0].shape[-1]
    rows_all = case.inputs[0].shape[-2]
    rows = sorted({e // cols % rows_all for e in elements})
    columns = sorted({e % cols for e in elements})
    return (f"of rows {rows[0]}..{rows[-1]} of {rows_all}, columns "
            f"{columns[0]}..{columns[-1]} of {cols}")


def _where(case, want, raw, wrong):
    """What the first wrong element should hold, what holds it, and where the
    wrong ones come from."""
    held = sources(case)
    if held is None or len(held) != want.size:
        return ""
    live = [held[i] for i in wrong if held[i] >= 0]
    size = len(raw) // max(1, want.size)
    first = next((i for i in wrong if held[i] >= 0), wrong[0])
    is_ = raw[first * size:(first + 1) * size].hex()
    should = want.memory[first * size:(first + 1) * size].hex()
    whose = "a pad" if held[first] < 0 else _place(case, held[first])
    text = f"; y[{first}] should hold {whose} = {should}, holds {is_}"
    if not live:
        return text + "; only pads are wrong"
    return text + f"; the wrong ones are {_range(case, live)}"


def _others(case):
    """Other layouts, those of the same family first; of a large tensor those
    alone, since a hundred take their time."""
    asked = case.texts["layout"].split("/")[0]
    family = asked.split(".")[0]
    rest = [n for n in case.problem.emulator.layouts() if n != asked]
    own = [n for n in rest if n.split(".")[0] == family]
    return own if case.inputs[0].size > MANY else \
        own + [n for n in rest if n not in own]


def _mistake(case, want, raw):
    """Exactly as if ...; "" if no known mistake gives these bytes."""
    right, x = bytes(want.memory), bytes(case.inputs[0].memory)
    if case.inputs[0].size < ENOUGH:  # many mistakes give the same few bytes
        return ""
    if raw == x:
        return "no layout was applied"
    if len(set(raw)) == 1 and len(raw) > 16:
        return f"nothing was written but {raw[0]:02x}"
    if SIZES[case.inputs[0].dtype] == 1:
        for words, table in _NIBBLES:
            if raw == right.translate(table):
                return words
    for layout in _others(case):
        if _layout(case, layout, x) == raw:
            return f"it is in the layout {layout}"
    twice = _layout(case, case.texts["layout"], right) \
        if len(right) == len(x) else None
    return "the layout was applied twice" if twice == raw else ""


def sentence(case, name, want, raw, wrong):
    """How many, which, and the known mistake."""
    text = f"{len(wrong)} of {want.size} elements of {name} differ"
    if not case.problem.is_layout or case.texts.get("dir") != "forward":
        size = len(raw) // max(1, want.size)
        at = wrong[0] * size
        return (f"{text}, first {name}[{wrong[0]}]: {raw[at:at + size].hex()}, "
                f"not {want.memory[at:at + size].hex()}")
    text += _where(case, want, raw, wrong)
    mistake = _mistake(case, want, raw)
    return text + (f"; exactly as if: {mistake}" if mistake else "")
