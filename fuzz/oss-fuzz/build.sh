#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
# Every fuzz target and its corpus into $OUT, as OSS-Fuzz asks for it: CC, CXX,
# CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE come from outside and stay as they
# are. ci/lane-oss-fuzz runs this without Docker.
top=${SRC:?}/mxoracle
mkdir -p "${WORK:?}/build" "${OUT:?}"
cd "$top"
[ -x configure ] || ./autogen.sh
cd "$WORK/build"
# A runner has no libraries but those of the C and C++ runtime.
"$top/configure" --enable-fuzzing --disable-shared --disable-openmp \
    --without-cuda --without-hip --without-check --without-openblas \
    --without-mpfr JANSSON_CFLAGS= JANSSON_LIBS=-l:libjansson.a
# The engine may be an archive of C++.
make -j"$(nproc)" CCLD="$CXX" fuzz-targets
for target in fuzz_*; do
    [ -f "$target" ] && [ -x "$target" ] || continue
    cp "$target" "$OUT/"
    zip -jqr "$OUT/${target}_seed_corpus.zip" "$top/fuzz/corpus/${target#fuzz_}"
done
