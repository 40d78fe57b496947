# SPDX-License-Identifier: Apache-2.0
# One macro per optional part: decides, defines, and leaves one sentence in
# mxo_<part>_says for the summary.

AC_DEFUN([MXO_TRY_FLAG], [
    mxo_saved="$CFLAGS"
    CFLAGS="$CFLAGS -Werror $1"
    AC_MSG_CHECKING([whether $CC takes $1])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
        [AC_MSG_RESULT([yes]); MXO_CFLAGS="$MXO_CFLAGS $1"],
        [AC_MSG_RESULT([no])])
    CFLAGS="$mxo_saved"
])

# Contraction would fuse a*b+c where FMA exists: bits would depend on the CPU.
# gcc 12's SLP vectoriser drops both conversions of (double)(float)x when two
# neighbours are stored: r->a = (double)(float)x; r->b = (double)(float)y.
AC_DEFUN([MXO_STRICT_FLAGS], [
    AC_MSG_CHECKING([whether $CC $CFLAGS keeps to IEEE 754])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#if defined(__FAST_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error no
#endif
        ]], [])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
        AC_MSG_ERROR([CFLAGS="$CFLAGS": -ffast-math and -Ofast change bits; leave them out])])
    MXO_CFLAGS="-std=c11"
    m4_foreach_w([flag], [-ffp-contract=off -fno-tree-slp-vectorize -Wall -Wextra
        -Wpedantic -Wshadow -Wconversion -Wvla -Wstrict-prototypes
        -Wmissing-prototypes -fno-math-errno], [MXO_TRY_FLAG(flag)])
    AC_ARG_ENABLE([werror], AS_HELP_STRING([--enable-werror], [warnings are errors]))
    AS_IF([test "x$enable_werror" = xyes], [MXO_CFLAGS="$MXO_CFLAGS -Werror"])
    AC_SUBST([MXO_CFLAGS])
])

# The library is named apart from the flag: libtool then hands it on to every
# program that links the cpu backend.
AC_DEFUN([MXO_OPTION_OPENMP], [
    AC_OPENMP
    OPENMP_LIBS=
    AS_IF([test -n "$OPENMP_CFLAGS"], [
        AC_LANG_CONFTEST([AC_LANG_PROGRAM([[#include <omp.h>]],
            [[int n = 0;
#pragma omp parallel for
            for (int i = 0; i < 4; i++) n = omp_get_thread_num();
            return n != n;]])])
        AC_MSG_CHECKING([for the OpenMP library])
        for mxo_lib in -lgomp -lomp -liomp5; do
            AS_IF([$CC $CFLAGS $OPENMP_CFLAGS -c conftest.c -o conftest.o 2>/dev/null &&
                $CC $CFLAGS $LDFLAGS conftest.o $mxo_lib -o conftest$EXEEXT 2>/dev/null],
                [OPENMP_LIBS=$mxo_lib; break])
        done
        rm -f conftest*
        AC_MSG_RESULT([${OPENMP_LIBS:-none}])
        AS_IF([test -z "$OPENMP_LIBS"], [OPENMP_CFLAGS=])
    ])
    AC_SUBST([OPENMP_LIBS])
    AS_IF([test -n "$OPENMP_CFLAGS"], [mxo_openmp_says="yes ($OPENMP_CFLAGS)"],
        [test "x$enable_openmp" = xno], [mxo_openmp_says="no: switched off; the cpu backend runs one thread"],
        [mxo_openmp_says="no: $CC has none; the cpu backend runs one thread"])
])

# The shim runs GPU sources on contexts of the C library; musl has none.
AC_DEFUN([MXO_OPTION_SIMT], [
    AC_ARG_WITH([simt], AS_HELP_STRING([--with-simt=WIDTH],
        [width of the shim's warps: 32 leaves 64 out, no both]))
    AC_CHECK_FUNC([makecontext], [mxo_simt=yes mxo_simt_says="yes: backends simt32 and simt64"],
        [mxo_simt=no mxo_simt_says="no: the C library has no makecontext()"])
    AS_CASE([$mxo_simt/$with_simt],
        [yes/no], [mxo_simt=no mxo_simt_says="no: switched off"],
        [yes/32], [mxo_simt=32 mxo_simt_says="yes: backend simt32; 64 switched off"])
    AM_CONDITIONAL([MXO_SIMT], [test "$mxo_simt" != no])
    AM_CONDITIONAL([MXO_SIMT64], [test "$mxo_simt" = yes])
])

# Lanes of the cpu backend that this host's compiler can build.
AC_DEFUN([MXO_CPU_LANES], [
    AC_CANONICAL_HOST
    MXO_CPU_FLAGS=
    mxo_cpu_says="portable"
    AS_CASE([$host_cpu],
        [x86_64], [mxo_cpu_says="portable, AVX2, AVX-512 (chosen at run time)"],
        [aarch64], [mxo_cpu_says="portable, NEON"],
        [i?86], [MXO_CPU_FLAGS="-msse2 -mfpmath=sse"],
        [s390x], [MXO_CPU_FLAGS="-fexcess-precision=fast"])
    mxo_amx=no
    AS_IF([test "x$host_cpu" = xx86_64], [
        AC_MSG_CHECKING([whether $CC knows AMX])
        mxo_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS -mamx-tile -mamx-int8"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <immintrin.h>
#include <sys/syscall.h>
long number = SYS_arch_prctl;]], [[_tile_zero(0); _tile_dpbssd(0, 1, 2);]])],
            [mxo_amx=yes])
        CFLAGS=$mxo_save_CFLAGS
        AC_MSG_RESULT([$mxo_amx])
        AS_IF([test $mxo_amx = yes],
            [MXO_CPU_FLAGS="-DMXO_HAS_AMX=1 -D_DEFAULT_SOURCE"
             mxo_cpu_says="portable, AVX2, AVX-512, AMX (chosen at run time)"])
    ])
    AM_CONDITIONAL([MXO_CPU_AMX], [test $mxo_amx = yes])
    AC_SUBST([MXO_CPU_FLAGS])
    AM_CONDITIONAL([MXO_CPU_X86_64], [test "x$host_cpu" = xx86_64])
    AM_CONDITIONAL([MXO_CPU_AARCH64], [test "x$host_cpu" = xaarch64])
])

AC_DEFUN([MXO_OPTION_OPENBLAS], [
    AC_ARG_WITH([openblas], AS_HELP_STRING([--without-openblas], [no OpenBLAS yardstick in bench]))
    mxo_openblas_says="no: switched off"
    mxo_openblas=no
    AS_IF([test "x$with_openblas" != xno], [
        PKG_CHECK_MODULES([OPENBLAS], [openblas], [mxo_openblas=yes], [mxo_openblas=no])
        AS_IF([test $mxo_openblas = yes],
            [mxo_openblas_says="yes"
             AC_DEFINE([HAVE_OPENBLAS], [1], [OpenBLAS is linked])],
            [test "x$with_openblas" = xyes],
            [AC_MSG_ERROR([--with-openblas: apt-get install libopenblas-dev])],
            [mxo_openblas_says="no: not found (libopenblas-dev); bench has no GEMM yardstick"])
    ])
    AM_CONDITIONAL([MXO_OPENBLAS], [test $mxo_openblas = yes])
])

AC_DEFUN([MXO_OPTION_CHECK], [
    AC_ARG_WITH([check], AS_HELP_STRING([--without-check], [no unit tests]))
    mxo_check=no
    mxo_check_says="no: switched off; unit suites are skipped"
    AS_IF([test "x$with_check" != xno], [
        PKG_CHECK_MODULES([CHECK], [check >= 0.15], [mxo_check=yes], [mxo_check=no])
        AS_IF([test $mxo_check = yes], [mxo_check_says="yes"],
            [test "x$with_check" = xyes], [AC_MSG_ERROR([--with-check: apt-get install check])],
            [mxo_check_says="no: not found (check); unit suites are skipped"])
    ])
    AM_CONDITIONAL([MXO_CHECK], [test $mxo_check = yes])
])

AC_DEFUN([MXO_OPTION_MPFR], [
    AC_ARG_WITH([mpfr], AS_HELP_STRING([--without-mpfr], [no tests against MPFR]))
    mxo_mpfr=no
    mxo_mpfr_says="no: switched off; tests against MPFR are skipped"
    AS_IF([test "x$with_mpfr" != xno], [
        AC_CHECK_HEADER([mpfr.h], [AC_CHECK_LIB([mpfr], [mpfr_exp],
            [mxo_mpfr=yes], [], [-lgmp])])
        AS_IF([test $mxo_mpfr = yes], [mxo_mpfr_says="yes (tests only)"],
            [test "x$with_mpfr" = xyes], [AC_MSG_ERROR([--with-mpfr: apt-get install libmpfr-dev])],
            [mxo_mpfr_says="no: not found (libmpfr-dev); tests against MPFR are skipped"])
    ])
    AM_CONDITIONAL([MXO_MPFR], [test $mxo_mpfr = yes])
])

AC_DEFUN([MXO_OPTION_CUDA], [
    AC_ARG_WITH([cuda], AS_HELP_STRING([--without-cuda], [no CUDA backend]))
    AC_ARG_VAR([NVCC], [CUDA compiler])
    AC_ARG_VAR([NVCC_ARCH], [flags that choose the GPU code, of all units])
    AC_ARG_VAR([NVCCFLAGS], [more flags of the CUDA compiler])
    mxo_cuda=no
    mxo_cuda_says="no: switched off"
    AS_IF([test "x$with_cuda" != xno], [
        AC_PATH_PROGS([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])
        AS_IF([test -n "$NVCC"], [mxo_cuda=yes],
            [test "x$with_cuda" = xyes], [AC_MSG_ERROR([--with-cuda: no nvcc found])],
            [mxo_cuda_says="no: nvcc not found; kernel logic is still checked under the SIMT shim"])
    ])
    AS_IF([test $mxo_cuda = yes],
        [mxo_cuda_says="yes ($NVCC${NVCCFLAGS:+ $NVCCFLAGS}, ${NVCC_ARCH:-code for 9.0 and PTX for 8.0})"])
    AM_CONDITIONAL([MXO_CUDA], [test $mxo_cuda = yes])
])

AC_DEFUN([MXO_OPTION_HIP], [
    AC_ARG_WITH([hip], AS_HELP_STRING([--without-hip], [no HIP backend]))
    AC_ARG_VAR([HIPCC], [HIP compiler])
    AC_ARG_VAR([HIP_ARCH], [flags that choose the GPU code])
    mxo_hip=no
    mxo_hip_says="no: switched off"
    AS_IF([test "x$with_hip" != xno], [
        AC_PATH_PROGS([HIPCC], [hipcc], [], [$PATH:/opt/rocm/bin])
        AS_IF([test -n "$HIPCC"], [mxo_hip=yes],
            [test "x$with_hip" = xyes], [AC_MSG_ERROR([--with-hip: apt-get install hipcc libamdhip64-dev])],
            [mxo_hip_says="no: hipcc not found; kernel logic is still checked under the SIMT shim"])
    ])
    AS_IF([test -z "$HIP_ARCH"], [HIP_ARCH="--offload-arch=gfx90a"])
    AS_IF([test $mxo_hip = yes], [mxo_hip_says="yes ($HIPCC, $HIP_ARCH)"])
    AM_CONDITIONAL([MXO_HIP], [test $mxo_hip = yes])
])

AC_DEFUN([MXO_OPTION_SANITIZERS], [
    AC_ARG_ENABLE([sanitizers], AS_HELP_STRING([--enable-sanitizers=LIST],
        [e.g. address,undefined]), [], [enable_sanitizers=no])
    mxo_sanitizers_says="no: --enable-sanitizers=address,undefined"
    AS_IF([test "x$enable_sanitizers" = xyes], [enable_sanitizers=address,undefined])
    AS_IF([test "x$enable_sanitizers" != xno], [
        MXO_SANITIZE="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
        mxo_sanitizers_says="$enable_sanitizers"
    ])
    AC_SUBST([MXO_SANITIZE])
])

AC_DEFUN([MXO_OPTION_FUZZING], [
    AC_ARG_ENABLE([fuzzing], AS_HELP_STRING([--enable-fuzzing], [libFuzzer targets (CC=clang)]))
    AC_ARG_VAR([LIB_FUZZING_ENGINE],
        [with --enable-fuzzing: another engine; CFLAGS then say which sanitizers])
    mxo_fuzzing_says="no: --enable-fuzzing CC=clang; the corpus is replayed in make check"
    AS_IF([test "x$enable_fuzzing" = xyes && test -n "$LIB_FUZZING_ENGINE"], [
        MXO_SANITIZE=
        mxo_fuzzing_says="yes ($LIB_FUZZING_ENGINE, sanitizers of CFLAGS)"
        mxo_sanitizers_says="of CFLAGS"
    ], [test "x$enable_fuzzing" = xyes], [
        mxo_saved="$CFLAGS"
        CFLAGS="$CFLAGS -fsanitize=fuzzer-no-link"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [],
            [AC_MSG_ERROR([--enable-fuzzing needs CC=clang with libFuzzer])])
        CFLAGS="$mxo_saved"
        LIB_FUZZING_ENGINE=-fsanitize=fuzzer
        MXO_SANITIZE="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -g"
        mxo_fuzzing_says="yes (libFuzzer, ASan, UBSan)"
        mxo_sanitizers_says="address,undefined (by --enable-fuzzing)"
    ])
    AM_CONDITIONAL([MXO_FUZZING], [test "x$enable_fuzzing" = xyes])
])

AC_DEFUN([MXO_OPTION_COVERAGE], [
    AC_PATH_PROG([LCOV], [lcov])
    AC_PATH_PROG([GENHTML], [genhtml])
    AS_IF([test -z "$LCOV"], [mxo_coverage_says="no: apt-get install lcov"],
        [mxo_coverage_says="yes: make coverage"])
])
