# SPDX-License-Identifier: Apache-2.0
"""Seconds of a function's runs: by the host's clock, or by a device's events.

On a CUDA device every run finds a cache with nothing of it, as a layer behind
another does: 256 MiB are read first.  The launches of a run come as one CUDA
graph; a function that cannot be captured is launched as it is, while the device
still reads.  The host's work between its launches then counts.
"""
import sys
import time

from . import registry

COLD = 256 << 20
WARM_UPS = 2


def _captured(torch, work):
    """A replay of the function as a graph; the function if it is none."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            work()
    except RuntimeError as error:
        print(f"mxoracle: timed launch by launch: {error}", file=sys.stderr)
        torch.cuda.synchronize()
        return work
    return graph.replay


class Timer:
    """A function, bound and captured once for all its samples."""

    def __init__(self, work):
        self.torch = sys.modules["torch"] if registry.on_cuda() else None
        self.work = work  # it keeps the tensors that a graph only points to
        self.run = work
        if self.torch is not None:
            self.run = _captured(self.torch, work)
            self.cold = self.torch.ones(COLD // 4, device="cuda")

    def seconds(self, repeat):
        one = self._by_host if self.torch is None else self._by_device
        return sum(one() for _ in range(repeat))

    def _by_host(self):
        before = time.perf_counter()
        self.run()
        return time.perf_counter() - before

    def _by_device(self):
        start, end = (self.torch.cuda.Event(enable_timing=True)
                      for _ in range(2))
        self.cold.sum()
        start.record()
        self.run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1000


def copy_seconds(n, repeat):
    """Of copying n bytes on the device, or on the host."""
    if not registry.on_cuda():
        source, target = bytearray(n), memoryview(bytearray(n))
        before = time.perf_counter()
        for _ in range(repeat):
            target[:] = source
        return time.perf_counter() - before
    torch = sys.modules["torch"]
    a, b = (torch.zeros(n, dtype=torch.uint8, device="cuda") for _ in range(2))
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeat):
        b.copy_(a)
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000
