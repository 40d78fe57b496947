# SPDX-License-Identifier: Apache-2.0
"""The exec protocol, subject's side: docs/exec-protocol.md, version 1."""
import json
import mmap
import os
import socket
import sys
import traceback

from . import clock, registry, signature
from .call import Call
from .tensor import Tensor, WrongAnswer

VERSION = 1
MAX_LINE = 1 << 20


class Stop(Exception):
    """The channel is at its end, or speaks another protocol."""


def wanted():
    """Was this program started by the judge?"""
    return "MXORACLE_EXEC" in os.environ


def _descriptors():
    words = os.environ["MXORACLE_EXEC"].split()
    if len(words) != 3 or words[0] != str(VERSION):
        raise Stop(f"this library speaks protocol {VERSION}, the judge says "
                   f"{os.environ['MXORACLE_EXEC']!r}")
    channel, memory = int(words[1]), int(words[2])
    os.set_inheritable(channel, False)
    os.set_inheritable(memory, False)
    return channel, memory


class Memory:
    """The judge's memory, mapped again when it has grown."""

    def __init__(self, descriptor):
        self.descriptor, self.map, self.kept = descriptor, None, []

    def view(self, size):
        if self.map is None or len(self.map) < size:
            # Arrays of earlier calls may still look at the old mapping.
            self.kept.append(self.map)
            self.map = mmap.mmap(self.descriptor, size)
        return memoryview(self.map)

    def tensors(self, rows, size):
        whole = self.view(size)
        found = []
        for row in rows:
            at = row["offset"] if row["bytes"] > 0 else 0
            # An extent beyond 2^63, of a call to be refused, is a text.
            found.append(Tensor(row["name"], row["dtype"],
                                [int(n) for n in row["shape"]],
                                whole[at:at + row["bytes"]]))
        return found


def _cut(text, room):
    """The head and the tail of a text too long for a line."""
    if len(text) <= room:
        return text
    half = room // 2 - 32
    return f"{text[:half]}\n... {len(text) - 2 * half} more ...\n{text[-half:]}"


class Server:
    """Answers one request at a time until the channel ends."""

    def __init__(self, channel, memory, name, version, missing):
        self.socket = socket.socket(fileno=channel)
        self.lines = self.socket.makefile("rb")
        self.memory = Memory(memory)
        self.name, self.version, self.missing = name, version, missing
        self.timed = None  # a call and its timer

    def reply(self, token, status, text=""):
        # Two bytes for each of \ and newline, four for a character, at worst.
        text = _cut(text, MAX_LINE // 8)
        text = text.replace("\\", "\\\\").replace("\r", " ").replace(
            "\n", "\\n")
        line = f"{token} {status} {text}" if text else f"{token} {status}"
        self.socket.sendall(line.encode("utf-8", "replace") + b"\n")

    def run(self):
        for line in self.lines:
            request = json.loads(line)
            status, text = self.outcome(request)
            sys.stdout.flush()
            self.reply(request["token"], status, text)

    def outcome(self, request):
        """Status and text of one request, whatever happens in it."""
        try:
            do = getattr(self, f"do_{request['do']}", None)
            if do is None:
                return 3, f"there is no request {request['do']!r} here"
            return 0, do(request)
        except WrongAnswer as error:
            return signature.SHAPE, str(error)
        except signature.Refusal as error:
            return error.status, str(error)
        except MemoryError as error:
            return signature.NOMEM, f"no memory: {error}"
        except Exception as error:  # the function's own, whatever it is
            if type(error).__name__ == "OutOfMemoryError":
                return signature.NOMEM, str(error)
            # A report of one line has the first: what it is, then where.
            return signature.DEVICE, (f"{type(error).__name__}: {error}\n"
                                      f"{traceback.format_exc()}")

    def do_hello(self, request):
        if request["device"] != 0:
            raise signature.Refusal("there is one device, 0",
                                    signature.DEVICE)
        if self.missing is not None:
            raise signature.Refusal(self.missing, signature.DEVICE)
        device, driver = registry.device_and_driver()
        does = ["time", "time_copy", "threads", "describe", "kernel"]
        return json.dumps({
            "name": self.name, "version": self.version, "device": device,
            "driver": driver, "ops": sorted(registry.SUBJECTS),
            "limits": registry.limits(), "does": does})

    def do_describe(self, request):
        device, driver = registry.device_and_driver()
        return json.dumps({"device": device, "driver": driver})

    def do_threads(self, request):
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(request["n"] or os.cpu_count() or 1)
        return ""

    def call(self, request):
        size = request["memory"]
        return Call(request["op"], request["params"],
                    self.memory.tensors(request["in"], size),
                    self.memory.tensors(request["out"], size))

    def do_run(self, request):
        self.timed = None
        subject = registry.subject_of(request["op"])
        return subject.answer(self.call(request))

    def do_time(self, request):
        """Samples of one call come one by one: it is bound for the first."""
        key = json.dumps([request[k] for k in ("op", "params", "in", "out")])
        if self.timed is None or self.timed[0] != key:
            self.timed = None
            subject = registry.subject_of(request["op"])
            call = self.call(request)
            subject.check(call)
            self.timed = key, clock.Timer(subject.bind(call))
        return repr(self.timed[1].seconds(request["repeat"]))

    def do_time_copy(self, request):
        return repr(clock.copy_seconds(request["bytes"], request["repeat"]))


def answer_judge(name, version, missing=None):
    """Serve until the judge is done; the exit status."""
    try:
        channel, memory = _descriptors()
        Server(channel, memory, name, version, missing).run()
    except (Stop, json.JSONDecodeError, KeyError) as error:
        print(f"mxoracle: {error}", file=sys.stderr)
        return 2
    except (BrokenPipeError, ConnectionResetError):
        pass
    return 0
