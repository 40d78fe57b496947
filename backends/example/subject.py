#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole subject of the exec protocol: MXFP4 blocks to BF16, rule ocp.

    mxoracle run --exec "python3 subject.py"
"""
import json
import mmap
import os
import struct
import sys

VALUES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
LIMITS = {"dequant.mx": {"params": {"rule": ["ocp"], "element": ["e2m1"],
                                    "to": ["bf16"], "axis": ["-1"],
                                    "zero": ["keep"]}}}


def bf16(code, scale):
    """Exact: E2M1 has two significant bits and BF16 binary32's exponents."""
    if scale == 255:
        return 0x7FC0
    x = VALUES[code & 7] * 2.0 ** (scale - 127)
    if x >= 2.0 ** 128:
        return 0x7F80 | (code & 8) << 12
    return struct.unpack("<I", struct.pack("<f", x))[0] >> 16 | (code & 8) << 12


def run(request, memory):
    tensors = {t["name"]: t for t in request["in"] + request["out"]}
    if set(request["params"]) != set(LIMITS["dequant.mx"]["params"]):
        return 2, "dequant.mx has five parameters"
    for key, texts in LIMITS["dequant.mx"]["params"].items():
        if request["params"][key] not in texts:
            return 3, "%s is not %s" % (key, texts[0])
    if set(tensors) != {"q", "scale", "y"}:
        return 1, "the tensors are q, scale and y"
    q, s, y = (tensors[name] for name in ("q", "scale", "y"))
    rows, last = q["shape"][:-1], q["shape"][-1] if q["shape"] else 1
    asked = [(q, "u8", rows + [last], 1), (s, "e8m0", rows + [last // 16], 1),
             (y, "bf16", rows + [2 * last], 2)]
    for t, dtype, shape, size in asked:
        for extent in shape:
            size *= int(extent)
        if last % 16 or (t["dtype"], t["shape"], t["bytes"]) != (
                dtype, shape, size):
            return 1, "%s does not fit the others" % t["name"]
    codes = memory[q["offset"]:q["offset"] + q["bytes"]]
    scales = memory[s["offset"]:s["offset"] + s["bytes"]]
    out = [bf16(codes[i // 2] >> 4 * (i % 2) & 15, scales[i // 32])
           for i in range(y["bytes"] // 2)]
    memory[y["offset"]:y["offset"] + y["bytes"]] = struct.pack(
        "=%dH" % len(out), *out)
    return 0, "bf16"


if "MXORACLE_EXEC" not in os.environ:
    sys.exit('start it with: mxoracle run --exec "python3 subject.py"')
version, channel, fd = map(int, os.environ["MXORACLE_EXEC"].split())
memory = mmap.mmap(fd, os.fstat(fd).st_size)
for line in open(channel, "rb", closefd=False):
    request = json.loads(line)
    if request.get("memory", 0) > len(memory):
        memory = mmap.mmap(fd, request["memory"])
    if request["do"] == "hello":
        status, text = 0, json.dumps({
            "name": "subject-py", "version": "1", "device": "this CPU",
            "driver": "", "ops": ["dequant.mx"], "limits": LIMITS})
    else:
        status, text = run(request, memory)
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    os.write(channel, ("%s %d %s\n" % (request["token"], status, text)).encode())
