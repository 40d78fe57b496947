# SPDX-License-Identifier: Apache-2.0
"""Rows of planted.def as numpy functions, each through mx.fuzz until it is
found; a right converter for its time.

    planted.py [--seconds=60] [--right=60] [--calls=N] [--seed=1] [ROW...]

prints a line a row: layout, fault, calls, seconds of the clock, processor
seconds, what was found.  Ends with 1 if a fault was not found or a right
converter was blamed.
"""
import argparse
import os
import re
import sys
import time
from collections import namedtuple

import mxoracle as mx
import numpy as np

Rule = namedtuple("Rule", "id knob standard row_granule col_granule rows_of "
                          "cols_of tile_rows tile_cols pad is_nibbles "
                          "takes_all place")
Row = namedtuple("Row", "layout mistake place what")
Extents = namedtuple("Extents", "rows cols padded_rows padded_cols knob")
INT_16 = 0xffff


def read_table():
    """({id: Rule}, [Row]) of planted.def."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "planted.def"), encoding="ascii") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    rules, rows = {}, []
    for kind, body in re.findall(r"(RULE|PLANTED)\((.*?)\)\s", text, re.S):
        words = [a or int(b) if a or b.isdigit() else b for a, b in
                 re.findall(r'"([^"]+)"|(?:"")?([\w]*)(?:,|$)', body + ",")
                 if a or b]
        if kind == "PLANTED":
            rows.append(Row(*words))
        else:
            knob = words[1] if isinstance(words[1], str) else ""
            rules[words[0]] = Rule(words[0], knob, *words[-11:])
    return rules, rows


def tiles(m, inside):
    """Tiles of m rows and 4 columns, in rows of tiles."""
    def place(x, r, c):
        return (r // m * (x.padded_cols // 4) + c // 4) * m * 4 + \
            inside(r % m, c % 4)
    return place


def in_rows(x, r, c):
    return r * x.cols + c


tile_128 = tiles(128, lambda r, c: r % 32 * 16 + r // 32 * 4 + c)
tile_64 = tiles(64, lambda r, c: r % 32 * 8 + r // 32 * 4 + c)


def halves_all(x, r, c):
    n = x.rows * x.cols
    return (in_rows(x, r, c) + n - x.rows // 2 * x.cols // 16 * 16) % n


def dealt(lanes):
    def place(x, r, c):
        i = r % (8 * lanes)
        return in_rows(x, r - i + i % lanes * 8 + i // lanes, c)
    return place


def shuffled(x, r, c):
    return dealt(4 if x.knob % 128 == 0 else 2)(x, r, c)


def by_warps(warps, x, r, c):
    group = r // 16
    row = group // (2 * warps) * warps + group % warps
    return row * x.padded_cols * 32 + c // 2 * 64 + group // warps % 2 * 32 + \
        r % 8 * 4 + c % 2 * 2 + r // 8 % 2


def cdna4(x, r, c):
    return r // 32 * x.padded_cols * 32 + c // 8 * 256 + \
        (c % 4 * 16 + r % 16) * 4 + c // 4 % 2 * 2 + r // 16 % 2


def cdna4_rows(x, r, c):
    at = cdna4(x, r, c)
    return at // 4 * 4 + at % 2 * 2 + at // 2 % 2


def marlin(tile, n, k, code):
    """Words of 16 k by 64 n: four to a thread, eight codes in each."""
    thread = n % 8 * 4 + k // 2 % 4
    return (tile * 128 + thread * 4 + n // 16 % 4) * 8 + code


def marlin_tile(x, n, k):
    return k // 16 * (x.rows // 64) + n // 64


def dealt_code(n, k):
    return k % 2 * 4 + n // 8 % 2 * 2 + k // 8 % 2


def gptoss(x, r, c, knob):
    """Gate and up in turn, the up first, then shuffled as scales are."""
    up = 1 - r % 2
    i = np.where(knob % 128 == 0, r // 2 % 2 * 16 + up * 8 + r // 4 % 8,
                 r // 16 % 2 * 16 + up * 8 + r // 2 % 8)
    return tile_128(x, r // 32 * 32 + i, c)


def parted(x, r):
    """Odd rows, then even ones."""
    return r // 2 + (1 - r % 2) * (x.rows // 2)


PLACES = {
    "place_128x4": tile_128,
    "place_64x4": lambda x, r, c: (tile_128 if x.rows % 64 else tile_64)(
        x, r, c),
    "place_128x4_across": tiles(128, lambda r, c: c * 128 + r),
    "place_8x4": tiles(8, lambda r, c: r * 4 + c),
    "place_8x4_across": tiles(8, lambda r, c: c * 8 + r),
    "place_4x4": tiles(4, lambda r, c: r * 4 + c),
    "place_swapped": lambda x, r, c: in_rows(x, r ^ 1, c),
    "place_swapped_next": lambda x, r, c: in_rows(
        x, np.where((r ^ 2) < x.rows, r ^ 2, r), c),
    "place_halves": lambda x, r, c: in_rows(
        x, (r + x.rows // 2) % x.rows, c),
    "place_halves_all": halves_all,
    "place_shuffled": shuffled,
    "place_shuffled_128": lambda x, r, c: (
        shuffled if x.rows % 32 else dealt(4))(x, r, c),
    "place_hopper": lambda x, r, c: by_warps(x.knob, x, r, c),
    "place_hopper_8": lambda x, r, c: by_warps(
        x.knob if x.padded_rows % 256 else 8, x, r, c),
    "place_hopper_4": lambda x, r, c: by_warps(4, x, r, c),
    "place_cdna4": cdna4,
    "place_cdna4_rows": cdna4_rows,
    "place_cdna4_cols": lambda x, r, c: (
        c // 8 * (x.padded_rows // 32) + r // 32) * 256 + cdna4(
            x, r % 32, c % 8),
    "place_cdna4_unpadded": lambda x, r, c: r // 32 * (x.cols * 32) % (
        x.padded_cols * x.padded_rows) + cdna4(x, r % 32, c),
    "place_32x4": tiles(32, lambda r, c: r * 4 + c),
    "place_16x4": tiles(16, lambda r, c: r * 4 + c),
    "place_transposed": lambda x, r, c: c * x.rows + r,
    "place_nibbles_kept": lambda x, r, c: (c // 2 * x.rows + r) * 2 + c % 2,
    "place_marlin": lambda x, r, c: marlin(
        marlin_tile(x, r, c), r, c, dealt_code(r, c)),
    "place_marlin_across": lambda x, r, c: marlin(
        r // 64 * (x.cols // 16) + c // 16, r, c, dealt_code(r, c)),
    "place_marlin_plain": lambda x, r, c: marlin(
        marlin_tile(x, r, c), r, c, r // 8 % 2 * 4 + c // 8 % 2 * 2 + c % 2),
    "place_eights": lambda x, r, c: in_rows(
        x, r, c // 64 * 64 + c % 8 * 8 + c // 8 % 8),
    "place_fours": lambda x, r, c: in_rows(
        x, r, c // 4 * 4 + c % 2 * 2 + c // 2 % 2),
    "place_humming": lambda x, r, c: (
        c * x.padded_rows + r // 64 * 64 + r % 8 * 8 + r // 8 % 8),
    "place_gptoss": lambda x, r, c: gptoss(x, r, c, np.array(x.knob)),
    "place_gptoss_late": lambda x, r, c: gptoss(
        x, r, c, np.where(r < 128, x.knob, 128)),
    "place_deinterleaved": lambda x, r, c: tile_128(x, parted(x, r), c),
    "place_deinterleaved_across": lambda x, r, c: (
        c // 4 * (x.rows // 128) + parted(x, r) // 128) * 512 + tile_128(
            x, parted(x, r) % 128, c % 4)}


def is_left_out(rule, mistake, x, n_experts, e, r, c, is_cut):
    """Elements that the mistake forgets; is_cut: on both sides."""
    m, n = rule.tile_rows, rule.tile_cols
    if mistake == "TAIL_ROWS":
        return r >= x.rows // m * m
    if mistake == "TAIL_COLS":
        return c >= x.cols // n * n
    if mistake == "LAST_PAIR":
        return (r + 2 >= x.rows) & (x.rows > 2)
    if mistake == "MANY":
        return (r + 1 == x.rows) & (e > 0)
    if mistake == "ODD_ROWS":
        return (r + 1 == x.rows) & (r > 0) & (x.rows % 2 == 1)
    count = -(-x.cols // n)
    if mistake == "EIGHTS" and n_experts > 8:
        return np.full(r.shape, e >= n_experts // 8 * 8)
    if mistake == "ODD_BOTH" and x.rows % 2 and count % 2 and count > 1:
        return (r > 0) & (r + 1 == x.rows) & (c // n + 1 == count)
    if mistake == "CROP_BOTH" and is_cut:
        return (r > 0) & (r == r.max())
    if mistake == "TILE_9":
        return c // n == 8
    if mistake == "REMAINDER" and count > 4:
        return c // n >= count // 4 * 4
    return np.zeros(r.shape, bool)


def copied(mistake, x):
    """Elements as they arrive."""
    if mistake == "WIDE" or mistake == "WIDE_4" and x.itemsize == 4:
        return x.byteswap()
    if mistake == "HIGH_NIBBLE":
        return (x.view(np.uint8) & 15).view(x.dtype)
    if mistake == "NAN_LOST":
        return np.where(x == 255, x.dtype.type(254), x)
    return x


def codes(x):
    """Nibbles of bytes, the low one first."""
    x = x.view(np.uint8)
    return np.stack([x & 15, x >> 4], -1).reshape(*x.shape[:-1], -1)


def converter(rule, row):
    """The function that a row of the table says."""
    mistake, right = row.mistake, PLACES[rule.place]
    wrong = PLACES[row.place]
    pad = rule.pad if mistake != "PAD_VALUE" else 0 if rule.pad else 127
    pad = 0xaa if mistake == "PAD_MISSING" else pad

    def move(x, shape, knob, is_back, kept, is_cut):
        place = right if mistake == "INVERSE" and not is_back else wrong
        granule = rule.row_granule or 32 * knob
        e = Extents(*shape, -(-shape[0] // granule) * granule,
                    -(-shape[1] // rule.col_granule) * rule.col_granule, knob)
        if rule.is_nibbles:
            e = e._replace(cols=2 * e.cols, padded_cols=2 * e.padded_cols)
            kept = kept[0], 2 * kept[1]
        image, plain = e.padded_rows * e.padded_cols, kept[0] * kept[1]
        stride = e.rows * e.cols if mistake == "STRIDE" else image
        src, n = x.reshape(-1), len(x)
        dst = np.frombuffer(bytes([pad]) * (
            n * (plain if is_back else image) * x.itemsize), x.dtype).copy()
        r, c = np.indices(kept)
        row16 = r & INT_16 if mistake == "ROW_16" else r
        col16 = c & INT_16 if mistake == "COL_16" else c
        most = INT_16 if mistake == "AT_16" else -1
        for i in range(n):
            of = {"FIRST": 0, "EXPERT_8": i % 256}.get(mistake, i)
            if mistake == "STALE" and i > 0 and not is_back:
                dst[i * image:][:e.rows * e.cols] = src[
                    (i - 1) * plain:i * plain]
            if mistake == "PAD_COLS" and not is_back:
                pads = np.indices((e.rows, e.padded_cols))[..., e.cols:]
                dst[i * image + place(e, *pads)] = 0
            if is_back:
                pitch = e.padded_cols if mistake == "KEEP" else kept[1]
                to = i * plain + (r * pitch + c) % plain
                at = of * stride + (place(e, row16, col16) & most)
            else:
                to = i * stride + (place(e, r, c) & most)
                at = of * plain + row16 * e.cols + col16
            taken = ~is_left_out(rule, mistake, e, n, i, r, c, is_cut)
            dst[to[taken]] = copied(mistake, src[at[taken]])
        return dst

    def convert(x, layout, dir, keep_rows, keep_cols):
        knob = int(layout.partition("=")[2] or rule.standard)
        shape = x.shape[1:]
        kept = keep_rows or shape[0], keep_cols or shape[1]
        given = codes(x) if rule.is_nibbles else x
        y = move(given, shape, knob, dir == "inverse", kept,
                 keep_rows and keep_cols)
        if rule.is_nibbles:
            y = y[::2] | y[1::2] << 4
        if mistake == "INPUT":
            x.reshape(-1).view(np.uint8)[0] ^= 1
        return np.append(y, y[:1]) if mistake == "BEYOND" else y
    return convert


def hunt(row, rule, options):
    """(calls, clock seconds, processor seconds, what was found or "")."""
    is_right = row.what == "right"
    clock, used = time.monotonic(), time.process_time()
    everything = dict.fromkeys(("dtype", "dir", "keep_rows", "keep_cols"), ...)
    found, calls = "", 0
    try:
        report = mx.fuzz(
            converter(rule, row), row.layout + "/*", batched=True,
            seconds=options.right if is_right else options.seconds,
            calls=options.calls, seed=options.seed, **everything)
        calls = report.calls
    except mx.Counterexample as error:
        found, calls = f"{error.finding.word}: {error.case.text}", error.calls
    return calls, time.monotonic() - clock, time.process_time() - used, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--right", type=float, default=60)
    parser.add_argument("--calls", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("rows", type=int, nargs="*")
    options, bad = parser.parse_args(), False
    rules, rows = read_table()
    for number, row in enumerate(rows):
        if options.rows and number not in options.rows:
            continue
        calls, clock, used, found = hunt(row, rules[row.layout], options)
        bad |= (row.what == "right") == bool(found)
        print(f"| {row.layout} | {row.what} | {calls} | {clock:.1f} | "
              f"{used:.1f} | {found or 'nothing'} |", flush=True)
    sys.exit(bad)


if __name__ == "__main__":
    main()
