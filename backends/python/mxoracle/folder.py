# SPDX-License-Identifier: Apache-2.0
"""The same script over a folder of mxoracle gen: outputs for verify."""
import os
import sys
import traceback

from . import registry, safetensors
from .call import Call
from .safetensors import NotAVector
from .signature import Refusal
from .tensor import Tensor, WrongAnswer, product
from .described import SIZES


def _outputs(meta):
    """Empty outputs as the file describes them: "out.y BF16[3,96] ..."."""
    try:
        words = meta["outputs"].replace(";", " ").split()
        found = []
        for name, kind in zip(words[0::2], words[1::2]):
            tag, _, axes = kind.rstrip("],").partition("[")
            shape = [int(n) for n in axes.split(",") if n]
            dtype = safetensors.DTYPES[tag]
            n = product(shape) * SIZES[dtype]
            found.append(Tensor(name[len("out."):], dtype, shape,
                                memoryview(bytearray(n))))
        return found
    except (MemoryError, OverflowError):
        raise NotAVector("there is no memory for its outputs") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NotAVector("it does not say what its outputs are: it was not "
                         "written by mxoracle gen") from None


def _texts(meta):
    """Parameters as a plugin gets them: "profile=TRITON bias=none ..."."""
    try:
        return dict(w.split("=", 1) for w in meta["params_text"].split())
    except (KeyError, ValueError, AttributeError):
        raise NotAVector("it has no parameters") from None


def _call(tensors, meta):
    inputs = [Tensor(name[3:], t.dtype, t.shape, t.memory)
              for name, t in tensors.items() if name.startswith("in.")]
    return Call(meta.get("op", ""), _texts(meta), inputs, _outputs(meta))


def _has_outputs(tensors, meta):
    """All of them; some are a file that somebody left half done."""
    there = {name for name in tensors if name.startswith("out.")}
    if there and "outputs" in meta:
        lacks = sorted({f"out.{t.name}" for t in _outputs(meta)} - there)
        if lacks:
            raise NotAVector(f"it has {' '.join(sorted(there))} and lacks "
                             f"{' '.join(lacks)}: half of its outputs")
    return bool(there)


def fill(path):
    """Answer one file in place; the word of its line, and a sentence."""
    tensors, meta = safetensors.read(path)
    if _has_outputs(tensors, meta):
        return "has outputs already", None
    call = _call(tensors, meta)
    kernel = registry.subject_of(call.op).answer(call)
    outputs = [Tensor(f"out.{t.name}", t.dtype, t.shape, t.memory)
               for t in call.outputs.values()]
    device, driver = registry.device_and_driver()
    meta = dict(meta, made_by=f"{registry.script_name()}: {kernel}, {device}, "
                f"{driver}")
    safetensors.write(path, list(tensors.values()) + outputs, meta)
    return "filled", None


def _plain(text, kept=""):
    """What moves a terminal or cannot be encoded as question marks."""
    return "".join(c if c.isprintable() or c in kept else "?" for c in text)


def _line(path):
    """(exit status, word, sentence) of one file, whatever happens in it."""
    try:
        word, sentence = fill(path)
        return 0, word, sentence
    except Refusal as error:
        return 0, "declined", _plain(str(error))
    except NotAVector as error:
        return 1, "is no case", _plain(str(error))
    except WrongAnswer as error:
        return 1, "WRONG ANSWER", _plain(str(error))
    except OSError as error:
        return 1, "cannot be read or written", _plain(str(error))
    except Exception:
        return 1, "ERROR", _plain(traceback.format_exc(), "\n")


def answer_folder(folder):
    """Every case of the folder; 0 filled or declined, 1 an error, 77 nothing
    was filled."""
    if not os.path.isdir(folder):
        print(f"mxoracle: {folder} is no folder", file=sys.stderr)
        return 2
    worst, words = 0, []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        status, word, sentence = _line(os.path.join(folder, name))
        print(f"{_plain(name)}: {word}" + (f": {sentence}" if sentence else ""))
        worst = max(worst, status)
        words.append(word)
    kinds = ", ".join(f"{words.count(w)} {w}" for w in sorted(set(words)))
    print(f"mxoracle: {len(words)} cases: {kinds or 'none'}")
    return worst if worst or "filled" in words else 77
