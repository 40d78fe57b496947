# SPDX-License-Identifier: Apache-2.0
"""What a script declares: its functions, by operation, and its name."""
import os
import platform
import re
import sys

from .call import Subject
from .signature import Unsupported

SUBJECTS = {}


def op(name, *, arrays="numpy", device=None, prepare=None, kernel=None,
       dtypes=None, distinct_ids=False, **declared):
    """Declare that the decorated function does an operation.

    name          "moe.layer"; mxoracle list names them all
    arrays        what tensors come as: numpy, torch, jax, or tensor (this
                  library's own, which needs no package)
    device        with torch: where tensors are moved before the call ("cuda")
    prepare       called before the function with arguments of its own; what it
                  returns, a dict, reaches the function by name.  Not timed:
                  the place to bring weights into a kernel's order
    kernel        what a report calls the function
    dtypes        {input: dtypes it takes}
    distinct_ids  no token names an expert twice
    declared      values of parameters (a value, a list, between(), ... for
                  all) and extents of dimensions (a number, a list, size());
                  "from" is written from_.  A parameter that is not named keeps
                  its default

    The function's parameters name what it is given: inputs, parameters,
    dimensions, outputs to be written in place (on the host), or call for
    everything.  An input that a call does not have is None.  It returns the
    output, a tuple or a dict of them, in exactly the type and shape of the
    operation, or raises Shape, Param or Unsupported with a sentence.
    """
    def register(function):
        if name in SUBJECTS:
            raise ValueError(f"{name} is declared twice, by "
                             f"{SUBJECTS[name].function.__name__} and "
                             f"{function.__name__}")
        SUBJECTS[name] = Subject(function, name, declared, arrays, device,
                                 prepare, kernel, dtypes, distinct_ids)
        return function
    return register


def subject_of(op_name):
    if op_name not in SUBJECTS:
        raise Unsupported(f"{op_name} is not declared here")
    return SUBJECTS[op_name]


def limits():
    return {name: s.limits.declared() for name, s in SUBJECTS.items()}


def script_name():
    """A backend's name from that of the script: [a-z0-9][a-z0-9._-]*."""
    stem = os.path.splitext(os.path.basename(sys.argv[0] or "python"))[0]
    name = re.sub(r"[^a-z0-9._-]", "-", stem.lower()).strip("-._")
    return name[:63] or "python"


def _cuda():
    torch = sys.modules.get("torch")
    wanted = any(s.device and str(s.device).startswith("cuda")
                 for s in SUBJECTS.values())
    return torch if wanted and torch is not None else None


def on_cuda():
    return _cuda() is not None


def missing_device():
    """Why there is no device for these functions; None if there is."""
    torch = _cuda()
    if torch is not None and not torch.cuda.is_available():
        return "there is no CUDA device here"
    return None


def device_and_driver():
    torch = _cuda()
    packages = [f"{name} {sys.modules[name].__version__}"
                for name in ("numpy", "torch", "triton", "jax")
                if hasattr(sys.modules.get(name), "__version__")]
    python = f"Python {platform.python_version()}"
    driver = ", ".join([python] + packages)
    if torch is not None:
        return torch.cuda.get_device_name(), driver
    return f"this CPU ({platform.machine()})", driver
