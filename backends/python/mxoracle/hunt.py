# SPDX-License-Identifier: Apache-2.0
"""From a function to the smallest case that it answers wrongly.

    import mxoracle as mx
    mx.fuzz(my_swizzle, "flashinfer.128x4", seconds=60)

ends quietly or raises mx.Counterexample with the case, what is wrong, and the
line that shows it again.
"""
import contextlib
import inspect
import os
import signal
import sys
import tempfile
import threading
import time

from . import naming
from .call import _typed
from .cases import Problem
from .tensor import product

SHRINK_TRIES = 400
MOST_ELEMENTS = 1 << 16  # of a case that is named as it was drawn


class Finding:
    """word: exception, hang, changed input, wrong type, another shape or wrong
    bytes; sentence: what and where."""

    def __init__(self, word, sentence):
        self.word, self.sentence = word, sentence

    def __repr__(self):
        return f"{self.word}: {self.sentence}"


class Counterexample(AssertionError):
    """.case and .finding; .calls: how many were judged before it was made
    small"""

    def __init__(self, case, finding, more="", calls=1):
        self.case, self.finding, self.calls = case, finding, calls
        super().__init__(f"FAIL {case.text}\n  {finding!r}\n"
                         f"  again: case={case.text!r}, seed={case.seed}{more}")


class Report:
    """What a run that found nothing has judged."""

    def __init__(self):
        self.calls, self.seconds, self.seen = 0, 0.0, {}

    def see(self, case):
        self.calls += 1
        for dim, extent in case.dims.items():
            self.seen.setdefault(dim, set()).add(extent)

    def __repr__(self):
        seen = "; ".join(f"{d} " + (
            ",".join(map(str, sorted(v))) if len(v) <= 8 else
            f"{len(v)} extents from {min(v)} to {max(v)}")
                         for d, v in self.seen.items())
        return (f"{self.calls} calls in {self.seconds:.1f} s, nothing found; "
                f"drawn: {seen}")


class Hang(BaseException):
    """The function took too long. No Exception: it is not to be caught."""


@contextlib.contextmanager
def _alarm(seconds):
    """Interrupt what runs longer, where the system and the thread allow it."""
    if not seconds or not hasattr(signal, "setitimer") or \
            threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number, frame):
        raise Hang()
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _kind_of_arrays():
    try:
        import numpy  # noqa: F401
        return "numpy"
    except ImportError:
        return "tensor"


def _array(t, arrays, batched):
    shape = t.shape
    if not batched and len(shape) == 3 and shape[0] == 1:
        shape = shape[1:]
    if arrays == "numpy":
        return t.numpy().reshape(shape)
    if arrays == "torch":
        return t.torch().reshape(shape)
    return t


def _arguments(case, function, arrays):
    """By the names of tensors, parameters and dimensions; a name that is none
    of them is the next input."""
    problem = case.problem
    arrayed = {t.name: _array(t, arrays, problem.batched or
                              not problem.is_layout) for t in case.inputs}
    domains = {p.key: p.domain for p in problem.op.params}
    values, waiting = {}, [t.name for t in case.inputs]
    for name, p in _parameters(function).items():
        key = name.rstrip("_")
        if key in arrayed:
            values[name] = arrayed[key]
            waiting.remove(key)
        elif key in case.texts:
            values[name] = _typed(domains[key], case.texts[key])
        elif key in case.dims:
            values[name] = case.dims[key]
        elif key == "case":
            values[name] = case
        elif p.default is p.empty and waiting:
            values[name] = arrayed[waiting.pop(0)]
    return values


def _parameters(function):
    """Named ones; a builtin that tells none takes the inputs in turn."""
    found = getattr(function, "__mxoracle_parameters__", None)
    if found is None:
        found = {n: p for n, p in
                 inspect.signature(function).parameters.items()
                 if p.kind is not p.VAR_KEYWORD and
                 p.kind is not p.VAR_POSITIONAL}
        with contextlib.suppress(AttributeError, TypeError):
            function.__mxoracle_parameters__ = found
    return found


def _raw(answer):
    """Bytes of an answer and the size of its elements; None: no array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(answer, torch.Tensor):
        size = answer.element_size()
        flat = answer.detach().cpu().contiguous().flatten()
        return bytes(flat.view(torch.uint8).numpy()) if flat.numel() else b"", \
            size
    if hasattr(answer, "tobytes") and hasattr(answer, "itemsize"):
        return answer.tobytes(), answer.itemsize
    try:
        view = memoryview(answer)
        return view.tobytes(), view.itemsize
    except TypeError:
        return None, 0


def _compare(case, name, want, answer, brief):
    """A Finding on one output, or None. A view of another shape is no fault
    of a layout, nor another type of the same width. brief: without a word on
    the bytes."""
    raw, size = _raw(answer)
    if raw is None:
        return Finding("wrong type", f"{name} is a {type(answer).__name__}")
    shape = tuple(getattr(answer, "shape", (len(raw) // max(1, size),)))
    told = f"{name} is {len(raw)} bytes of {list(shape)}, not {want!r}"
    if len(raw) != len(want.memory) or (
            not case.problem.is_layout and shape != want.shape):
        return Finding("another shape", told)
    if size != len(want.memory) // max(1, want.size):
        return Finding("wrong type", told)
    if raw == want.memory:
        return None
    wrong = naming.wrong_elements(case, want, raw)
    if not wrong:
        return None
    return Finding("wrong bytes", "" if brief else
                   naming.sentence(case, name, want, raw, wrong))


def _named_answers(case, answer):
    names = [n for n in case.expected if n != "valid"]
    if isinstance(answer, dict):
        return [(n, answer.get(n)) for n in names]
    many = answer if isinstance(answer, tuple) else (answer,)
    return list(zip(names, many + (None,) * len(names)))


def judge(case, function, arrays=None, timeout=10, brief=False):
    """The Finding on one case, or None; brief: its word is enough."""
    expected = case.expected
    before = [bytes(t.memory) for t in case.inputs]
    try:
        with _alarm(timeout):
            answer = function(**_arguments(case, function,
                                           arrays or _kind_of_arrays()))
    except Hang:
        return Finding("hang", f"it did not end within {timeout} s")
    except (Exception, SystemExit) as error:
        return Finding("exception", f"{type(error).__name__}: {error}")
    for t, old in zip(case.inputs, before):
        if t.memory != old:
            t.memory[:] = old
            return Finding("changed input", f"{t.name} is not what it was")
    for name, got in _named_answers(case, answer):
        finding = _compare(case, name, expected[name], got, brief)
        if finding is not None:
            return finding
    return None


def _plainer(case):
    """Cases that are smaller in one dimension, or of plainer data."""
    problem = case.problem
    for dim, extent in case.dims.items():
        for smaller in problem.smaller(dim, extent):
            yield problem.varied(case, **{dim: smaller})
    for p in problem.op.params:
        if problem.is_plainer(p.key, p.default, case):
            yield problem.varied(case, **{p.key: p.default})
    if case.pairs.get("data") != "coded":
        yield problem.varied(case, data="coded")
    if case.seed != 1:
        yield problem.varied(case, seed=1)


def shrink(case, finding, function, arrays=None, timeout=10):
    """The plainest case with a finding of the same word, and that finding."""
    word = finding.word
    left, smaller = (8 if word == "hang" else SHRINK_TRIES), True
    while smaller and left > 0:
        smaller = False
        for candidate in _plainer(case):
            if candidate is None:
                continue
            left -= 1
            found = judge(candidate, function, arrays, timeout, brief=True)
            if found is not None and found.word == word:
                case, smaller = candidate, True
                break
            if left <= 0:
                break
    return case, judge(case, function, arrays, timeout) or Finding(
        word, "and then it was not seen again: it comes and goes")


def _keep(folder, case, finding):
    """Write the case as a vector and as text; where."""
    os.makedirs(folder, exist_ok=True)
    number = 1
    while os.path.exists(os.path.join(folder, f"{number}.safetensors")):
        number += 1
    path = os.path.join(folder, f"{number}.safetensors")
    case.save(path)
    with open(path.replace(".safetensors", ".txt"), "w",
              encoding="utf-8") as f:
        f.write(f"{case.text} # {case.seed}\n{finding!r}\n")
    return path


class _Hunt:
    """What both ways of drawing do with a case."""

    def __init__(self, function, problem, arrays, timeout, keep, journal):
        self.function, self.problem = function, problem
        self.arrays, self.timeout, self.keep = arrays, timeout, keep
        self.journal, self.report = journal, Report()
        self.start = time.monotonic()

    def take(self, case):
        if case is None:
            return
        if self.journal is not None:
            self.journal.seek(0)
            self.journal.truncate()
            self.journal.write(f"{case.text} # {case.seed}")
            self.journal.flush()
        finding = judge(case, self.function, self.arrays, self.timeout,
                        brief=True)
        self.report.see(case)
        self.report.seconds = time.monotonic() - self.start
        if finding is not None:
            self.end(case, finding)

    def end(self, case, finding):
        drawn = case
        case, finding = shrink(case, finding, self.function, self.arrays,
                               self.timeout)
        more = ""
        if drawn.text != case.text and \
                product(drawn.dims.values()) <= MOST_ELEMENTS:
            first = judge(drawn, self.function, self.arrays, self.timeout)
            more = f"\n  first seen: {drawn.text}: {first!r}"
        if self.keep is not None:
            more += f"\n  kept: {_keep(self.keep, case, finding)}"
        raise Counterexample(case, finding, more, self.report.calls)


def _guided(hunt, function, limits):
    """Coverage of the function's own Python code chooses what is drawn; ends
    the process, as atheris does."""
    try:
        import atheris
    except ImportError:
        raise ImportError("guided=True needs the package atheris") from None
    atheris.instrument_func(function)

    def one(data):
        hunt.take(hunt.problem.decode(data))

    def other(data, most, seed):
        return hunt.problem.drawn.mutate(data, seed)[:most]
    atheris.Setup(sys.argv[:1] + limits, one, custom_mutator=other)
    atheris.Fuzz()


def fuzz(function, what, *, seconds=60, calls=None, seed=1, arrays=None,
         batched=False, timeout=10, guided=False, case=None, keep=None,
         journal=None, **declared):
    """Judge a function on drawn cases until one is wrong or time is up.

    function   its parameters are named as the operation names tensors,
               parameters and dimensions; the first one with another name is
               the input.  numpy arrays, or torch tensors with arrays="torch"
    what       a layout or an operation, Problem says how
    seconds    how long; calls: at most so many
    batched    a layout is given [experts, rows, cols]; else [rows, cols]
    timeout    seconds for one call
    guided     with atheris: by coverage; ends the process
    case       the text of one case: judge that alone, with the data of seed
    keep       folder for the smallest wrong case, as vector and as text
    journal    file that always holds the case at hand, for a function that
               takes the interpreter with it
    declared   as in mx.op: layout.apply's dtype=["u8", "e8m0"], rows=size(...)

    A Report, or Counterexample is raised.
    """
    problem = Problem(what, declared, batched)
    with contextlib.ExitStack() as stack:
        opened = None if journal is None else stack.enter_context(
            open(journal, "w", encoding="utf-8"))
        hunt = _Hunt(function, problem, arrays, timeout, keep, opened)
        if case is not None:
            hunt.take(problem.spelt(case, seed))
            return hunt.report
        if guided:
            if keep is not None:
                os.makedirs(keep, exist_ok=True)
            return _guided(hunt, function, [
                f"-max_total_time={int(seconds)}", f"-seed={seed}",
                f"-artifact_prefix={keep or tempfile.gettempdir()}{os.sep}",
                f"-runs={-1 if calls is None else calls}"])
        problem.start(seed)
        while time.monotonic() - hunt.start < seconds and \
                (calls is None or hunt.report.calls < calls):
            drawn = problem.draw()
            if drawn is None:
                raise ValueError(f"{problem.op.name} takes none of the cases "
                                 "that can be drawn as declared")
            hunt.take(drawn)
    return hunt.report
