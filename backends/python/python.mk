# SPDX-License-Identifier: Apache-2.0
# The Python side: nothing is compiled. Installed below the package's data, for
# any Python there is: PYTHONPATH=PREFIX/share/mxoracle/python.
python_package = \
	%reldir%/mxoracle/__init__.py \
	%reldir%/mxoracle/call.py \
	%reldir%/mxoracle/cases.py \
	%reldir%/mxoracle/channel.py \
	%reldir%/mxoracle/clock.py \
	%reldir%/mxoracle/described.py \
	%reldir%/mxoracle/drawn.py \
	%reldir%/mxoracle/folder.py \
	%reldir%/mxoracle/formats.py \
	%reldir%/mxoracle/hunt.py \
	%reldir%/mxoracle/library.py \
	%reldir%/mxoracle/limits.py \
	%reldir%/mxoracle/naming.py \
	%reldir%/mxoracle/registry.py \
	%reldir%/mxoracle/safetensors.py \
	%reldir%/mxoracle/signature.py \
	%reldir%/mxoracle/strategies.py \
	%reldir%/mxoracle/tensor.py
python_examples = \
	%reldir%/examples/faults.py \
	%reldir%/examples/numpy_subject.py \
	%reldir%/examples/plain_subject.py \
	%reldir%/examples/torch_bits.py \
	%reldir%/examples/torch_layer.py
python_packagedir = $(pkgdatadir)/python/mxoracle
python_defdir = $(pkgdatadir)/python/mxoracle/def
python_exampledir = $(pkgdatadir)/python/examples
dist_python_package_DATA = $(python_package)
dist_python_example_DATA = $(python_examples)
python_def_DATA = configure.ac backends/common/outputs.def emu/include/mxoracle/dtype.def \
	emu/include/mxoracle/ops.def
EXTRA_DIST += %reldir%/README.md %reldir%/MANIFEST.in %reldir%/pyproject.toml \
	%reldir%/setup.py %reldir%/test_fuzz.py %reldir%/test_package.py

# What was installed is a whole package; of what is not there nothing is asked.
installcheck-local:
	if python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; \
	then cd / && PYTHONDONTWRITEBYTECODE=1 \
	    PYTHONPATH=$(DESTDIR)$(pkgdatadir)/python python3 -c \
	    'import mxoracle; assert mxoracle.__version__ == "$(PACKAGE_VERSION)"'; \
	fi

# Shipped packages as subjects: a file and a page each, nothing of theirs.
python_subjects = \
	backends/flashinfer/subject.py \
	backends/gguf/subject.py \
	backends/marlin/subject.py \
	backends/mlx/subject.py \
	backends/torch/subject.py \
	backends/triton_kernels/subject.py
EXTRA_DIST += $(python_subjects) $(python_subjects:subject.py=README.md) \
	backends/flashinfer/host.cases backends/flashinfer/issue_3334.py backends/flashinfer/layer.cases \
	backends/marlin/gemm.cases backends/triton_kernels/layer.cases
