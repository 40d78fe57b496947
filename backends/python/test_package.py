# SPDX-License-Identifier: Apache-2.0
"""The package by itself: formats against exact arithmetic, declarations,
files of strangers.  python3 test_package.py"""
import bisect
import contextlib
import io
import json
import math
import mmap
import os
import struct
import tempfile
import unittest
from fractions import Fraction

import mxoracle as mx
from mxoracle import channel, described, folder, limits, safetensors
from mxoracle import signature
from mxoracle.call import Call, Subject
from mxoracle.tensor import Tensor, WrongAnswer

try:
    import numpy as np
except ImportError:
    np = None

try:
    import jax
except ImportError:
    jax = None

NUMBERS = [0.0, -0.0, 1.0, 1.5, -2.5, 1 + 2**-8, 1 + 2**-8 + 2**-40,
           1 + 2**-8 - 2**-40, 1 + 3 * 2**-8, 3.3895e38, -3.4e38, 1e300, -1e300,
           2**-133, 2**-134, 2**-134 + 2**-180, 3 * 2**-134, 0.25, 0.75, 5.0,
           0.2500001, 0.7499, 1e-40, 464.0, 464.0001, 61440.0, 2**-10, 2**-11,
           math.inf, -math.inf]


def nearest(x, values):
    """Code whose value is nearest to x >= 0, ties to the even code."""
    at = bisect.bisect_left(values, x)
    near = [c for c in (at - 1, at) if 0 <= c < len(values)]
    return min(near, key=lambda c: (abs(Fraction(values[c]) - Fraction(x)),
                                    c & 1))


def bf16_values():
    return [struct.unpack("<f", struct.pack("<I", c << 16))[0]
            for c in range(0x7f80)]


class Formats(unittest.TestCase):
    def test_bf16_is_rounded_once(self):
        values = bf16_values() + [2.0 ** 128]
        finite = [x for x in NUMBERS if math.isfinite(x)]
        for x, got in zip(finite, mx.to_bf16(finite)):
            size = min(abs(x), 2.0 ** 128)
            want = nearest(size, values)
            self.assertEqual(got & 0x7fff, want, x)
            self.assertEqual(got >> 15, int(math.copysign(1, x) < 0), x)

    def test_codes_go_there_and_back(self):
        for format in ("e2m1", "e2m3", "e3m2", "e4m3fn", "e5m2", "e4m3fnuz"):
            codes = [c for c, v in enumerate(mx.TABLES[format])
                     if math.isfinite(v)]
            back = mx.encode([mx.TABLES[format][c] for c in codes], format)
            self.assertEqual(back, codes, format)

    def test_rounding_is_to_the_nearest(self):
        for format in ("e2m1", "e3m2", "e4m3fn", "e5m2"):
            table = mx.TABLES[format]
            ladder = [v for v in table[:len(table) // 2] if math.isfinite(v)]
            for x in NUMBERS:
                if math.isfinite(x):
                    self.assertEqual(
                        mx.encode([abs(x)], format)[0],
                        nearest(min(abs(x), ladder[-1]), ladder), (format, x))

    def test_known_bytes(self):
        self.assertEqual(mx.decode(b"\x00\x7f\xfe", "e8m0"),
                         [2.0 ** -127, 1.0, 2.0 ** 127])
        self.assertTrue(math.isnan(mx.decode(b"\xff", "e8m0")[0]))
        self.assertEqual(mx.decode(b"\x7e\x08\x01", "e4m3fn"),
                         [448, 2 ** -6, 2 ** -9])
        self.assertEqual(mx.unpack_e2m1(b"\x21\xf7"), [1, 2, 7, 15])
        self.assertEqual(mx.pack_e2m1([1, 2, 7, 15]), [0x21, 0xf7])
        self.assertEqual(mx.encode([0.25, 0.75, 2.5, 5.0], "e2m1"),
                         [0, 2, 4, 6])
        self.assertEqual(mx.encode([0.25, 2.5], "e2m1", "away"), [1, 5])

    @unittest.skipIf(np is None, "no numpy")
    def test_numpy_gives_the_same(self):
        x = np.array(NUMBERS + [math.nan])
        self.assertEqual(mx.to_bf16(x).tolist(), mx.to_bf16(x.tolist()))
        for format in ("e2m1", "e2m3", "e4m3fn", "e5m2", "e4m3fnuz"):
            for tie in ("even", "away", "zero"):
                self.assertEqual(mx.encode(x, format, tie).tolist(),
                                 mx.encode(x.tolist(), format, tie),
                                 (format, tie))
            codes = np.arange(len(mx.TABLES[format]), dtype=np.uint8)
            self.assertEqual(str(mx.decode(codes, format).tolist()),
                             str(mx.decode(codes.tolist(), format)))


def dequant_call(**changes):
    texts = dict(element="e2m1", to="bf16", rule="ocp", axis="-1", zero="keep")
    texts.update(changes.pop("texts") if "texts" in changes else {})
    rows = {"q": ("u8", (2, 32)), "scale": ("e8m0", (2, 2)),
            "y": ("bf16", (2, 64))}
    rows.update(changes)
    made = {}
    for name, row in rows.items():
        if row is not None:
            n = described.SIZES[row[0]]
            for extent in row[1]:
                n *= extent
            made[name] = Tensor(name, row[0], row[1],
                                memoryview(bytearray(n)))
    return Call("dequant.mx", texts,
                [t for n, t in made.items() if n != "y"],
                [t for n, t in made.items() if n == "y"])


def zeros(q, scale):
    return [0] * (2 * q.size)


class Declarations(unittest.TestCase):
    def subject(self, function=zeros, **declared):
        return Subject(function, "dequant.mx", declared, "tensor")

    def status(self, subject, call):
        try:
            subject.answer(call)
            return 0
        except signature.Refusal as refusal:
            self.assertTrue(str(refusal))
            return refusal.status
        except WrongAnswer:
            return "wrong"

    def test_a_legal_call_is_answered(self):
        self.assertEqual(self.status(self.subject(), dequant_call()), 0)

    def test_what_is_not_named_keeps_its_default(self):
        call = dequant_call(texts={"to": "f32"}, y=("f32", (2, 64)))
        self.assertEqual(self.status(self.subject(), call), 3)
        self.assertEqual(self.status(self.subject(to=["bf16", "f32"]), call),
                         0)
        self.assertEqual(self.status(self.subject(to=...), call), 0)

    def test_extents(self):
        for extent, status in ((mx.size(multiple=32), 0),
                               (mx.size(multiple=128), 3), (64, 0), ([32], 3),
                               (mx.size(least=65), 3), (mx.size(most=63), 3)):
            self.assertEqual(self.status(self.subject(cols=extent),
                                         dequant_call()), status)

    def test_wrong_calls(self):
        for change, status in (
                ({"q": None}, 1), ({"scale": ("u8", (2, 2))}, 1),
                ({"texts": {"rule": "flour"}}, 2),
                ({"texts": {"axis": "0.5"}}, 2),
                ({"texts": {"newer": "1"}}, 3), ({"y": None}, 1)):
            self.assertEqual(self.status(self.subject(),
                                         dequant_call(**change)), status,
                             change)
        call = dequant_call()
        del call.texts["rule"]
        self.assertEqual(self.status(self.subject(), call), 2)
        call = dequant_call()
        call.inputs["q"].memory = call.inputs["q"].memory[:-1]
        self.assertEqual(self.status(self.subject(), call), 1)

    def test_an_answer_of_another_shape_writes_nothing(self):
        for wrong in ([0] * 3, [0.5] * 128, ([0] * 128, [0]), {"z": []}, 7):
            call = dequant_call()
            call.outputs["y"].memory[:] = b"\xaa" * 256
            self.assertEqual(self.status(self.subject(_answering(wrong)),
                                         call), "wrong")
            self.assertEqual(bytes(call.outputs["y"].memory), b"\xaa" * 256)

    def test_misspelt_declarations(self):
        for words in ({"elment": "e2m1"}, {"to": "bf61"}, {"cols": []}):
            with self.assertRaises(ValueError):
                self.subject(**words)
        with self.assertRaises(ValueError):
            Subject(zeros, "dequant.my", {}, "tensor")
        with self.assertRaises(ValueError):
            self.subject(lambda q, scales: None)

    def test_numbers_that_are_none(self):
        """One sentence each: not a traceback of an int() somewhere."""
        nan, inf = math.nan, math.inf
        for make in (lambda: mx.size(multiple=nan), lambda: mx.size(least=inf),
                     lambda: mx.size(most=-1), lambda: mx.size(most=2 ** 63),
                     lambda: mx.size(least=2, most=1),
                     lambda: mx.between(nan, 1), lambda: mx.between(0, inf),
                     lambda: mx.between(2, 1), lambda: mx.between("a", None)):
            with self.assertRaisesRegex(ValueError, "[a-z]+ .*(nan|inf|1|a)"):
                make()
        for words in ({"alpha": nan}, {"limit": [1, nan]}, {"rows": nan},
                      {"rows": 2.5}, {"rows": -1}, {"cols": [64, True]}):
            with self.assertRaisesRegex(ValueError, "count|NaN"):
                limits.Limits("act.glu", words)
        made = limits.Limits("act.glu", {"limit": inf, "alpha": 7.0})
        self.assertEqual(made.declared()["params"]["limit"], ["inf"])
        self.assertEqual(made.declared()["params"]["alpha"], ["7"])

    def test_an_id_beyond_the_last_expert(self):
        ids = Tensor("topk_ids", "i32", (1, 2),
                     memoryview(bytearray(struct.pack("<ii", 0, 5))))
        call = Call("moe.layer", {}, [ids], [])
        call.dims = {"experts": 5}
        from mxoracle.call import check_ids
        with self.assertRaises(signature.Param):
            check_ids(call)

    def test_what_the_judge_is_told(self):
        told = self.subject(cols=mx.size(multiple=32, most=64)).limits
        entry = told.declared()
        self.assertEqual(entry["params"]["rule"], ["ocp"])
        self.assertEqual(entry["dims"], {"cols": {"multiple": 32, "most": 64}})

    def test_every_operation_is_read(self):
        self.assertIn("quant.mx", described.OPERATIONS)
        for name, op in described.OPERATIONS.items():
            limits.Limits(name, {})
            self.assertTrue(op.inputs and op.outputs, name)
            for p in op.params:
                if "|" in p.domain:
                    self.assertIn(p.default, p.domain.split("|"), name)


def _answering(value):
    def function(q):
        return value
    return function


def shared(dtype, shape):
    """A tensor in memory that another process could share."""
    n = described.SIZES[dtype] * math.prod(shape)
    return Tensor("x", dtype, shape, memoryview(mmap.mmap(-1, 4096))[:n])


if jax is not None:  # else the class is not there: nothing is skipped

    class Jax(unittest.TestCase):
        def test_arrays_lie_in_the_judges_memory(self):
            for dtype in ("u8", "u16", "i32", "f32", "f16", "e8m0"):
                t = shared(dtype, (3, 32))
                self.assertEqual(t.jax().unsafe_buffer_pointer(),
                                 t.numpy().ctypes.data, dtype)

        def test_bf16_keeps_its_bits(self):
            t = shared("bf16", (4,))
            t.memory[:] = struct.pack("<4H", 0x3f80, 0x8000, 0x7f81, 1)
            back = np.asarray(t.jax()).view(np.uint16)
            self.assertEqual(back.tolist(), t.numpy().tolist())
            self.assertEqual(str(t.jax().dtype), "bfloat16")

        def test_nothing_is_narrowed(self):
            for dtype in ("f64", "i64"):
                with self.assertRaisesRegex(TypeError, "JAX_ENABLE_X64"):
                    shared(dtype, (4,)).jax()

        def test_its_answers_are_taken(self):
            t = shared("bf16", (4,))
            t.accept(jax.numpy.full((4,), 1.5, "bfloat16"))()
            self.assertEqual(t.numpy().tolist(), [0x3fc0] * 4)
            with self.assertRaises(WrongAnswer):
                t.accept(jax.numpy.ones((4,), "float32"))


class Lines(unittest.TestCase):
    def reply(self, status, text):
        server = channel.Server.__new__(channel.Server)
        sent = []
        server.socket = type("S", (), {"sendall": lambda self, b:
                                       sent.append(b)})()
        server.reply("t", status, text)
        return sent[0]

    def test_a_long_text_fits_a_line(self):
        for text in ("\\" * 3000000, "\n" * 3000000, "\u20ac" * 3000000):
            line = self.reply(5, text)
            self.assertLessEqual(len(line), channel.MAX_LINE)
            self.assertEqual(line.count(b"\n"), 1)

    def test_newlines_are_written_out(self):
        self.assertEqual(self.reply(5, "a\nb\\"), b"t 5 a\\nb\\\\\n")
        self.assertEqual(self.reply(0, ""), b"t 0\n")


class Files(unittest.TestCase):
    def test_strangers(self):
        good = json.dumps({"in.x": {"dtype": "U8", "shape": [2],
                                    "data_offsets": [0, 2]}}).encode()
        files = [b"", b"1234567", struct.pack("<Q", 2 ** 63) + b"{}",
                 struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 2) + b"{{",
                 struct.pack("<Q", len(good)) + good + b"x"]
        for change in (b'[3]', b'[-2]', b'"no"', b'[18446744073709551615,2]'):
            bad = good.replace(b"[2]", change)
            files.append(struct.pack("<Q", len(bad)) + bad + b"xy")
        for bad in (b"[" * 100000, b'{"a":' * 100000,
                    good[:-1] + b',"__metadata__":[]}',
                    good[:-1] + b',"__metadata__":{"op":5}}'):
            files.append(struct.pack("<Q", len(bad)) + bad + b"xy")
        with tempfile.TemporaryDirectory() as where:
            path = os.path.join(where, "case.safetensors")
            for data in files:
                with open(path, "wb") as f:
                    f.write(data)
                with self.assertRaises(safetensors.NotAVector, msg=data):
                    safetensors.read(path)
                status, word, sentence = folder._line(path)
                self.assertEqual((status, word), (1, "is no case"))
            good = struct.pack("<Q", len(good)) + good + b"xy"
            with open(path, "wb") as f:
                f.write(good)
            self.assertEqual(folder._line(path)[:2], (1, "is no case"))
            with open(path, "rb") as f:
                self.assertEqual(f.read(), good)
            os.unlink(path)
            os.mkfifo(path)
            self.assertEqual(folder._line(path),
                             (1, "is no case", "it is no regular file"))

    def test_more_outputs_than_memory(self):
        for n in (2 ** 62, 2 ** 80):
            with self.assertRaisesRegex(safetensors.NotAVector, "no memory"):
                folder._outputs({"outputs": f"out.y U8[{n}]"})

    def test_names_move_no_terminal(self):
        name = b"\xff\x1b[2J\nx: filled.safetensors"
        with tempfile.TemporaryDirectory() as where:
            with open(os.path.join(os.fsencode(where), name), "wb"):
                pass
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                self.assertEqual(folder.answer_folder(where), 1)
            self.assertTrue(said.getvalue().startswith(
                "??[2J?x: filled.safetensors: is no case"))
            said.getvalue().encode()


if __name__ == "__main__":
    unittest.main()
