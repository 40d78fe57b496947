# SPDX-License-Identifier: Apache-2.0
"""mxoracle.fuzz: right functions are left alone, planted faults are found and
made small.  python3 test_fuzz.py; the library as mxoracle/library.py says."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import unittest

import mxoracle as mx
from mxoracle.cases import Problem
from mxoracle.library import Emulator, NoLibrary

try:
    Emulator()
    NO_LIBRARY = None
except NoLibrary as error:
    NO_LIBRARY = str(error)
HAS = {m: importlib.util.find_spec(m) is not None
       for m in ("numpy", "torch", "hypothesis", "atheris")}
if HAS["numpy"]:
    import numpy as np


def tiles(x, m, groups, pad=0):
    """[r, c] in tiles of m rows and 4 columns, in steps: pad, cut, transpose."""
    r, c = x.shape
    whole = np.full((-(-r // m) * m, -(-c // 4) * 4), pad, np.uint8)
    whole[:r, :c] = x
    cut = whole.reshape(whole.shape[0] // m, groups, m // groups,
                        whole.shape[1] // 4, 4)
    return cut.transpose(0, 3, 2, 1, 4)


def swizzle(x):
    return tiles(x, 128, 4)


def pairs(x):
    return x.reshape(-1, 2, x.shape[1])[:, ::-1]


def halves(x):
    h = x.shape[0] // 2
    return np.concatenate([x[h:], x[:h]])


def stacked(x):
    return np.stack([swizzle(e) for e in x])


def tail_rows(x):
    y = x.copy()
    y[len(x) // 32 * 32:] = 0
    return swizzle(y)


def tail_columns(x):
    y = x.copy()
    y[:, x.shape[1] // 4 * 4:] = 0
    return swizzle(y)


def pad_value(x):
    return tiles(x, 128, 4, 127)


def pad_missing(x):
    return swizzle(x).reshape(-1)[:x.size]


def tile_transposed(x):
    return swizzle(x).swapaxes(2, 3)


def granule_halved(x):
    return tiles(x, 64, 4) if len(x) % 128 == 0 else swizzle(x)


def expert_stride(x):
    flat = np.concatenate([swizzle(e).reshape(-1)[:x[0].size] for e in x])
    return np.pad(flat, (0, stacked(x).size - flat.size))


def high_nibble(x):
    return swizzle(x & 15)


def other_version(x):
    return tiles(x, 8, 8) if len(x) % 128 == 0 else swizzle(x)


def index_of_16_bits(x):
    return swizzle(x[np.arange(len(x)).astype(np.uint16)])


def one_expert(x):
    return stacked(np.concatenate([x[:1]] * len(x)))


def odd_rows(x):
    y = x.copy()
    if len(x) % 2 and len(x) > 1:
        y[-1] = y[-2]
    return swizzle(y)


def signed(x):
    return swizzle(x.astype(np.int8).clip(-127, 127).astype(np.uint8))


def in_place(x):
    y = swizzle(x).copy()
    x[-1, -1] ^= 1
    return y


def raises(x):
    if x.shape[1] == 1:
        raise ZeroDivisionError("one column")
    return swizzle(x)


def leaves(x):
    if x.shape[1] == 2:
        sys.exit(0)
    return swizzle(x)


def hangs(x):
    while x.shape[0] == 3:
        time.sleep(0.01)
    return swizzle(x)


def wide(x):
    return swizzle(x).astype(np.uint16)


PLANTED = [  # function, layout, given batched, what is said
    (tail_rows, 0, "of rows"), (tail_columns, 0, "columns"),
    (pad_value, 0, "only pads are wrong"), (pad_missing, 0, "another shape"),
    (tile_transposed, 0, "should hold x["), (granule_halved, 0, "wrong bytes"),
    (expert_stride, 1, "wrong bytes"),
    (high_nibble, 0, "the high nibble of every byte is 0"),
    (other_version, 0, "it is in the layout flashinfer.8x4"),
    (index_of_16_bits, 0, "x[65536,0]"), (one_expert, 1, "x[1,"),
    (odd_rows, 0, "rows=3,cols=1"), (signed, 0, "wrong bytes"),
    (in_place, 0, "changed input"), (raises, 0, "ZeroDivisionError"),
    (leaves, 0, "SystemExit: 0"), (hangs, 0, "hang"), (wide, 0, "another shape")]


@unittest.skipIf(NO_LIBRARY, NO_LIBRARY)
@unittest.skipUnless(HAS["numpy"], "no numpy")
class Layouts(unittest.TestCase):
    def test_right_functions_are_left_alone(self):
        for function, layout, batched in (
                (swizzle, "flashinfer.128x4", False),
                (lambda a: tiles(a, 8, 8), "flashinfer.8x4", False),
                (pairs, "vllm.swap_every_two_rows", False),
                (halves, "vllm.reorder_w1w3_to_w3w1", False),
                (stacked, "flashinfer.128x4", True)):
            report = mx.fuzz(function, layout, calls=80, batched=batched)
            self.assertEqual(report.calls, 80, layout)

    def test_planted_faults_are_found_and_named(self):
        for function, batched, words in PLANTED:
            with self.assertRaises(mx.Counterexample,
                                   msg=function.__name__) as caught:
                few = {"rows": [1, 65537], "cols": [1]}
                mx.fuzz(function, "flashinfer.128x4", batched=bool(batched),
                        timeout=0.5 if function is hangs else 10,
                        **(few if function is index_of_16_bits else {}))
            self.assertIn(words, str(caught.exception), function.__name__)

    def test_what_is_found_is_small_and_comes_again(self):
        with tempfile.TemporaryDirectory() as keep:
            with self.assertRaises(mx.Counterexample) as caught:
                mx.fuzz(tail_columns, "flashinfer.128x4", keep=keep)
            case = caught.exception.case
            self.assertEqual(case.dims, {"experts": 1, "rows": 1, "cols": 1})
            with self.assertRaises(mx.Counterexample) as again:
                mx.fuzz(tail_columns, "flashinfer.128x4", case=case.text,
                        seed=case.seed)
            self.assertEqual(again.exception.case.text, case.text)
            self.assertEqual(sorted(os.listdir(keep)),
                             ["1.safetensors", "1.txt"])
            kept = mx.load_case(os.path.join(keep, "1.safetensors"))
            self.assertEqual(kept.text, case.text)
            kept.check(swizzle)
            with self.assertRaises(mx.Counterexample):
                kept.check(tail_columns)

    def test_parameters_are_made_plain(self):
        layout = "layout=vllm.swap_every_two_rows"
        with self.assertRaises(mx.Counterexample) as caught:
            mx.fuzz(lambda x, dir, keep_rows, keep_cols: x[:0],
                    "vllm.swap_every_two_rows", dir=..., keep_rows=...,
                    keep_cols=..., dtype=..., case="layout.apply:experts=1,"
                    f"rows=4,cols=3,{layout},dtype=bf16,dir=inverse,"
                    "keep_rows=3")
        self.assertEqual(caught.exception.case.text, "layout.apply:experts=1,"
                         f"rows=2,cols=1,{layout},data=coded")

    def test_the_seed_says_what_is_drawn(self):
        problem = Problem("flashinfer.128x4")

        def draws(seed):
            problem.start(seed)
            return [problem.draw() for _ in range(20)]
        once, twice, other = ([(c.text, c.seed) for c in draws(seed)]
                              for seed in (7, 7, 8))
        self.assertEqual(once, twice)
        self.assertNotEqual(once, other)
        for text, seed in once:
            self.assertEqual(problem.spelt(text, seed).text, text)

    def test_a_record_is_a_call(self):
        # Slot n of a dimension is the size n.
        problem = Problem("triton.hopper_scale/*", {"dtype": "u8"})
        case = problem.packed([0, 5, 0, 1, 3, 40, 1, 0, 0, 0, 0])
        self.assertEqual(case.dims, {"experts": 1, "rows": 3, "cols": 40})
        self.assertEqual(case.seed, 5)
        self.assertIsNotNone(problem.decode(b""))
        record = problem.drawn.mutate(bytes(problem.drawn.record), 3)
        changed = sum(a != b for a, b in
                      zip(record, bytes(problem.drawn.record)))
        self.assertTrue(0 < changed <= 4, changed)

    def test_parameters_of_a_layout_are_drawn(self):
        problem = Problem("triton.hopper_scale/*")
        problem.start(1)
        layouts = {problem.draw().texts["layout"] for _ in range(60)}
        self.assertIn("triton.hopper_scale/num_warps=4", layouts)
        problem = Problem("flashinfer.128x4", {"dtype": ["u8", "bf16"],
                                               "cols": mx.size(multiple=3)})
        problem.start(1)
        drawn = [problem.draw() for _ in range(40)]
        self.assertEqual({c.texts["dtype"] for c in drawn}, {"u8", "bf16"})
        self.assertTrue(all(c.dims["cols"] % 3 == 0 for c in drawn))

    def test_other_types_and_the_way_back(self):
        mx.fuzz(swizzle_any, "flashinfer.128x4", calls=60,
                dtype=["bf16", "u8", "f32"])

        def back(x, keep_rows, keep_cols):
            return pairs(x)[:keep_rows or None, :keep_cols or None]
        mx.fuzz(back, "vllm.swap_every_two_rows", calls=60, dir="inverse")

    def test_declared_extents_are_kept(self):
        report = mx.fuzz(swizzle, "flashinfer.128x4", calls=40,
                         rows=mx.size(multiple=128), cols=[4, 8])
        self.assertTrue(all(n % 128 == 0 for n in report.seen["rows"]))
        self.assertEqual(report.seen["cols"], {4, 8})

    def test_an_operation(self):
        def dequant(q, scale):
            codes = mx.decode(mx.unpack_e2m1(q), "e2m1").astype(np.float64)
            return mx.to_bf16(codes * np.repeat(mx.decode(scale, "e8m0"), 32,
                                                -1)[:, :codes.shape[1]])
        declared = dict(cols=mx.size(multiple=32), calls=60)
        mx.fuzz(dequant, "dequant.mx", **declared)
        with self.assertRaises(mx.Counterexample):
            mx.fuzz(lambda q, scale: dequant(q >> 1, scale), "dequant.mx",
                    **declared)

    def test_bad_usage(self):
        for what, declared in (("flashinfer.129x4", {}), ("moe.layer", {}),
                               ("quant.mx", {"elment": "e2m1"}),
                               ("flashinfer.128x4", {"case": "nonsense"})):
            with self.assertRaises(ValueError, msg=what):
                mx.fuzz(swizzle, what, calls=1, **declared)


def swizzle_any(x):
    r, c = x.shape
    whole = np.zeros((-(-r // 128) * 128, -(-c // 4) * 4), x.dtype)
    whole[:r, :c] = x
    cut = whole.reshape(-1, 4, 32, whole.shape[1] // 4, 4)
    return cut.transpose(0, 3, 2, 1, 4)


@unittest.skipIf(NO_LIBRARY, NO_LIBRARY)
@unittest.skipUnless(HAS["torch"] and HAS["numpy"], "no torch")
class Torch(unittest.TestCase):
    def test_torch_functions(self):
        import torch

        def right(x):
            return x.view(-1, 2, x.shape[1]).flip(1)

        def wrong(x):
            return x.view(-1, 2, x.shape[1]).roll(1, 0)
        mx.fuzz(right, "vllm.swap_every_two_rows", calls=40, arrays="torch",
                dtype=["u8", "bf16"])
        with self.assertRaises(mx.Counterexample):
            mx.fuzz(wrong, "vllm.swap_every_two_rows", arrays="torch")
        self.assertTrue(torch.is_tensor(right(torch.zeros(2, 2))))


@unittest.skipIf(NO_LIBRARY, NO_LIBRARY)
@unittest.skipUnless(HAS["hypothesis"] and HAS["numpy"], "no hypothesis")
class Strategies(unittest.TestCase):
    def strategy(self, function):
        from hypothesis import Phase, given, settings

        @settings(max_examples=25, deadline=None, database=None,
                  derandomize=True, phases=[Phase.generate, Phase.shrink])
        @given(case=mx.strategies.cases("layout.apply",
                                        layout="flashinfer.128x4"))
        def run(case):
            case.check(function)
        run()

    def test_a_right_function(self):
        self.strategy(swizzle)

    def test_what_is_found_is_made_small(self):
        with self.assertRaises(mx.Counterexample) as caught:
            self.strategy(odd_rows)
        self.assertEqual(caught.exception.case.dims["rows"], 3)
        self.assertEqual(caught.exception.case.dims["cols"], 1)


@unittest.skipIf(NO_LIBRARY, NO_LIBRARY)
class Processes(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name

    def run_script(self, text):
        here = os.path.dirname(os.path.abspath(__file__))
        env = dict(os.environ, PYTHONPATH=here)
        return subprocess.run([sys.executable, "-c", text], env=env, text=True,
                              capture_output=True, timeout=300, check=False)

    @unittest.skipUnless(HAS["atheris"], "no atheris")
    def test_coverage_guides(self):
        done = self.run_script(
            "import mxoracle as mx\n"
            "def f(x):\n"
            "    b = bytearray(x.memory.tobytes() if hasattr(x, 'memory') "
            "else x.tobytes())\n"
            "    if len(b) % 3 == 0:\n"
            "        b[0] ^= 1\n"
            "    return b\n"
            "mx.fuzz(f, 'vllm.as_is', guided=True, seconds=60, "
            f"keep={self.folder!r})\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("FAIL layout.apply:", done.stdout + done.stderr)

    def test_a_crash_leaves_its_case(self):
        with tempfile.TemporaryDirectory() as where:
            path = os.path.join(where, "journal")
            done = self.run_script(
                "import os, mxoracle as mx\n"
                "mx.fuzz(lambda x: os.abort(), 'vllm.as_is', "
                f"journal={path!r})\n")
            self.assertLess(done.returncode, 0)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            case, _, seed = text.partition(" # ")
            self.assertEqual(Problem("vllm.as_is").spelt(case, int(seed)).text,
                             case)

    def test_a_library_of_another_kind(self):
        done = subprocess.run(
            [sys.executable, "-c", "import mxoracle.library as l; l.load()"],
            env=dict(os.environ, MXORACLE_LIBRARY=__file__,
                     PYTHONPATH=os.path.dirname(os.path.abspath(__file__))),
            text=True, capture_output=True, check=False)
        self.assertIn("is no libmxoracle", done.stderr)


if __name__ == "__main__":
    unittest.main()
