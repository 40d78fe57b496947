# SPDX-License-Identifier: Apache-2.0
"""Brings the judge's tables into the package: the only step that a plain
pyproject has no word for."""
import os
import re
import shutil

from setuptools import setup

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.join(here, "..", "..")
package = os.path.join(here, "mxoracle", "def")

# A source distribution has its own copy and no tree around it.
if os.path.exists(os.path.join(top, "configure.ac")):
    os.makedirs(package, exist_ok=True)
    for name in ("configure.ac", "backends/common/outputs.def",
                 "emu/include/mxoracle/ops.def",
                 "emu/include/mxoracle/dtype.def"):
        shutil.copy(os.path.join(top, name), package)

with open(os.path.join(package, "configure.ac"), encoding="ascii") as f:
    version = re.search(r"AC_INIT\(\[mxoracle\], \[([^]]+)", f.read()).group(1)

setup(version=version)
