# SPDX-License-Identifier: Apache-2.0
"""Judge a Python function with mxoracle.

    import mxoracle as mx

    @mx.op("dequant.mx")
    def dequant(q, scale):
        ...

    mx.main()

Then, in a shell:

    mxoracle run --exec "python3 mine.py"       judged case by case
    python3 mine.py --gen DIR                   outputs for mxoracle verify
    python3 mine.py                             what is declared
"""
import argparse
import json
import os
import sys

# Workers of several subjects share the cores: none should spin.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from . import channel, registry
from .cases import load_case
from .described import VERSION
from .folder import answer_folder
from .formats import (TABLES, decode, encode, f32, pack_e2m1, to_bf16,
                      unpack_e2m1)
from .hunt import Counterexample, fuzz
from .limits import Between as between, Extent as size
from .registry import op
from .signature import NoMemory, Param, Shape, Unsupported
from .tensor import Tensor

__version__ = VERSION
__all__ = ["Counterexample", "NoMemory", "Param", "Shape", "TABLES", "Tensor", "Unsupported",
           "between", "decode", "encode", "f32", "fuzz", "load_case", "main", "op", "pack_e2m1",
           "serve", "size", "to_bf16", "unpack_e2m1"]


def __getattr__(name):
    """mx.strategies, which alone needs hypothesis."""
    if name != "strategies":
        raise AttributeError(f"module mxoracle has no attribute {name!r}")
    import importlib
    return importlib.import_module(".strategies", __name__)


def serve(name=None, version="1", missing=None):
    """Answer the judge's requests until it is done; the exit status.

    missing: why there is nothing to judge here (a package, a device); the
    judge then skips this subject and says so."""
    return channel.answer_judge(name or registry.script_name(), version,
                                missing or registry.missing_device())


def _options():
    parser = argparse.ArgumentParser(
        description="Functions judged by mxoracle run --exec.")
    parser.add_argument("--gen", metavar="DIR",
                        help="write the outputs of the cases in DIR")
    return parser.parse_known_args()[0]


def main(name=None, version="1", missing=None):
    """Serve the judge, fill a folder (--gen DIR), or say what is declared;
    ends the program."""
    if channel.wanted():
        sys.exit(serve(name, version, missing))
    options = _options()
    missing = missing or registry.missing_device()
    if missing is not None:
        print(f"mxoracle: {missing}", file=sys.stderr)
        sys.exit(77)
    if options.gen is not None:
        sys.exit(answer_folder(options.gen))
    print(json.dumps(registry.limits(), indent=1))
    print("judge it:  mxoracle run --exec 'python3 "
          f"{sys.argv[0]}'", file=sys.stderr)
    sys.exit(0)
