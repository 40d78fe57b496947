# SPDX-License-Identifier: Apache-2.0
"""One fault on request, so that a test sees each operation go red."""
import sys

FAULTS = {
    "nibbles": "dequant.mx: the high nibble is taken for the even element",
    "ties": "quant.mx: ties go away from zero",
    "nan": "act.glu: a NaN up becomes the upper limit",
    "rows": "layout.apply: digits of the row in each other's place",
    "many": "moe.gemm1: tokens from the ninth on are left zero",
    "tail": "moe.layer: the last block of K is left out of the first GEMM",
}

_asked = [a.split("=", 1)[1] for a in sys.argv[1:] if a.startswith("--fault=")]
for _name in _asked:
    if _name not in FAULTS:
        sys.exit(f"there is no fault {_name}: {' '.join(FAULTS)}")


def planted(name):
    return name in _asked
