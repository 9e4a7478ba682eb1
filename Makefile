# `make test` and `make demo` need Python >= 3.11, make and a C++ compiler; everything else is installed into .venv.
PYTHON ?= python3
JOBS ?= 2
SECONDS ?= 60
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BUILT_FROM := pyproject.toml CMakeLists.txt $(wildcard csrc/*)

DOCS_NEEDS := sphinx, pydata_sphinx_theme, sphinx_gallery, sphinx_design, sphinx_copybutton, myst_parser, numpydoc

LOWEST_VENV := .venv-lowest
LOWEST_INSTALLED := $(LOWEST_VENV)/.installed
# polars is as old as this scikit-learn, which asks for the names of columns in a way that polars 2 no longer supports.
LOWEST := 'numpy==2.0.*' 'scipy==1.13.*' 'scikit-learn==1.6.*' 'array-api-compat==1.9.*' 'threadpoolctl==3.1.*' 'polars==1.17.*'

# The compiled objects of the editable install are kept and reused for the wheel: CMake compiles what has changed, and
# each combination of compiler and flags has its own folder. A newly installed backend, as in an isolated build, would
# discard the objects, so both builds use the backend in .venv.
CORE_BUILD := build/core-$(shell echo '$(CXX) $(CXXFLAGS) $(LDFLAGS)' | cksum | cut -d ' ' -f 1)
CORE_BUILD_NEEDS := import scikit_build_core.build as backend; print(*backend.get_requires_for_build_editable())

# Tests of the same row of tests/tables.py run on the same worker, so that its maps are drawn only once.
PYTEST := -m pytest -n $(JOBS) --dist loadgroup

# Without it scikit-learn's common checks skip the array API ones.
export SCIPY_ARRAY_API := 1

.PHONY: help test demo digits test-full test-long test-lowest lint style types check wheel-test sdist-test \
	pure-wheel-test sanitize mutants fuzz gpu-check bench bench-quick docs papers papers-full clean
.DELETE_ON_ERROR:

help:
	@echo 'make test         lint, types, tests, docstring examples, and a wheel that is built and tried elsewhere'
	@echo 'make demo         the command line on handwritten digits: tables, a picture and two web pages'
	@echo 'make digits       the exact kernel machine compared with maps as the data grow'
	@echo 'make test-full    test, then test-long, sdist-test, pure-wheel-test, sanitize, mutants and fuzz'
	@echo 'make test-long    the tests marked full: more seeds, every row of the table, every combination'
	@echo 'make test-lowest  the tests on the oldest versions of the dependencies (Python 3.11 or 3.12)'
	@echo 'make lint         ruff, mypy, the layers of the package and the layout of docstrings'
	@echo 'make wheel-test   build the wheel, install it elsewhere and try it; sdist-test builds it from the source archive,'
	@echo '                  pure-wheel-test without a compiler'
	@echo 'make sanitize     the tests of the compiled core under address and undefined-behaviour sanitizers (GCC)'
	@echo 'make mutants      break the code on purpose and check that the tests notice'
	@echo 'make fuzz         feed changed files to the readers; FUZZ_SECONDS=600 for longer'
	@echo 'make gpu-check    tests and benchmarks that need a GPU, with the Python of GPU_PYTHON and the data of MERCER_DATA'
	@echo 'make bench        times of every map and its peers (half an hour); bench-quick saves some in bench.json'
	@echo 'make docs         the site, in build/docs/index.html: guide, gallery, theory and reference; it can be read offline'
	@echo 'make papers       the papers'"'"' tables and figures, in quick versions; papers-full computes the full ones (hours)'
	@echo 'make clean        remove what these targets made'

INSTALL_EDITABLE = $(BIN)/python -m pip install --progress-bar on --no-build-isolation \
	--config-settings=build-dir=$(CORE_BUILD) --editable

# Reinstalled only when the build changes: Python files are used directly from src.
$(INSTALLED): $(BUILT_FROM)
	@echo '== creating a Python environment in $(VENV)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo '== downloading what Mercer needs, compiling its core and installing it in $(VENV): a minute or two, once'
	$(BIN)/python -m pip install --quiet scikit-build-core
	$(BIN)/python -m pip install --quiet scikit-build-core $$($(BIN)/python -c '$(CORE_BUILD_NEEDS)')
	$(INSTALL_EDITABLE) '.[dev]'
	@touch $@

$(LOWEST_INSTALLED): $(BUILT_FROM)
	@echo '== downloading the oldest versions that Mercer supports, and installing it with them in $(LOWEST_VENV)'
	test -x $(LOWEST_VENV)/bin/python || $(PYTHON) -m venv $(LOWEST_VENV)
	$(LOWEST_VENV)/bin/python -m pip install --progress-bar on --editable '.[test]' $(LOWEST)
	@touch $@

test: $(INSTALLED)
	$(MAKE) --no-print-directory --jobs 2 types style wheel-test
	$(MAKE) --no-print-directory check

lint: style types

types: $(INSTALLED)
	@echo '== types'
	$(BIN)/python -m mypy

style: $(INSTALLED)
	@echo '== style, layers and the layout of docstrings'
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/lint-imports
	find src -name '*.py' | xargs $(BIN)/python -m numpydoc lint

# With all cores busy, several BLAS threads per process would only wait for each other. The long tests have them.
check: $(INSTALLED)
	@echo '== tests and examples, on $(JOBS) processes: about five minutes on two idle cores'
	OMP_NUM_THREADS=1 $(BIN)/python $(PYTEST) -m 'not full'

# -S keeps the editable install out of sight, which a .pth file would put before everything else; the dependencies are
# then borrowed from .venv by path.
define try_wheel
	@echo '== building a wheel ($(2)) and trying it elsewhere'
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(1) $(BIN)/python -m build $(3) --outdir "$$folder/dist" . > "$$folder/log" 2>&1 || \
		{ cat "$$folder/log"; exit 1; } && \
	$(BIN)/python -m pip install --quiet --no-deps --target "$$folder/site" "$$folder"/dist/*.whl && \
	smoke=$$PWD/tests/wheel_smoke.py && python=$$PWD/$(BIN)/python && \
	borrowed=$$("$$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') && \
	cd "$$folder" && PYTHONPATH="$$folder/site:$$borrowed" "$$python" -S -P "$$smoke" "$$folder/site" $(2)
endef

wheel-test: $(INSTALLED)
	$(call try_wheel,,compiled,--wheel --no-isolation --config-setting=build-dir=$(CORE_BUILD))

# Built as a user does: from the source archive, in a separate environment, with everything compiled.
sdist-test: $(INSTALLED)
	$(call try_wheel,,compiled,)

pure-wheel-test: $(INSTALLED)
	$(call try_wheel,CXX=false,pure,)
	@echo '== a release without a compiler must fail'
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	if MERCER_REQUIRE_CORE=1 CXX=false $(BIN)/python -m build --wheel --outdir "$$folder" . > "$$folder/log" 2>&1; then \
		echo 'MERCER_REQUIRE_CORE=1 made a wheel without the compiled core'; exit 1; \
	fi; grep -q 'CMake' "$$folder/log"

# The core's tests under sanitizers, which must be loaded before Python; Python itself leaks on purpose. Tests that start
# processes of their own are left out.
SANITIZERS := -fsanitize=address,undefined -fno-omit-frame-pointer
sanitize: $(INSTALLED)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	CXXFLAGS='$(SANITIZERS)' LDFLAGS='$(SANITIZERS)' $(BIN)/python -m build --wheel --outdir "$$folder/dist" . \
		> "$$folder/log" 2>&1 || { cat "$$folder/log"; exit 1; } && \
	$(BIN)/python -m pip install --quiet --no-deps --target "$$folder" "$$folder"/dist/*.whl && \
	cp -r tests pyproject.toml "$$folder" && python=$$PWD/$(BIN)/python && \
	borrowed=$$("$$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') && cd "$$folder" && \
	preload="$$($${CXX:-g++} -print-file-name=libasan.so) $$($${CXX:-g++} -print-file-name=libubsan.so)" && \
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$preload" PYTHONPATH="$$folder:$$borrowed" "$$python" -S -m pytest -q \
		-p no:cacheprovider tests/test_core*.py tests/data/test_libsvm.py \
		-k 'not forced and not loaded and not library and not machine'

demo: $(INSTALLED)
	@echo '== the command line on handwritten digits: about a minute'
	$(BIN)/python examples/demo.py

digits: $(INSTALLED)
	$(BIN)/python examples/digits.py

test-full: test test-long sdist-test pure-wheel-test sanitize mutants fuzz

test-long: $(INSTALLED)
	@echo '== the tests marked full, on $(JOBS) processes: the same checks over more seeds, rows and cases'
	$(BIN)/python $(PYTEST) -m full

test-lowest: $(LOWEST_INSTALLED)
	$(LOWEST_VENV)/bin/python $(PYTEST) -m 'not full'

mutants: $(INSTALLED)
	$(BIN)/python tests/mutants.py --jobs $(JOBS)

FUZZ_SECONDS ?= 60
fuzz: $(INSTALLED)
	$(BIN)/python tests/fuzz_models.py --seconds $(FUZZ_SECONDS)
	$(BIN)/python tests/fuzz_libsvm.py --seconds $(FUZZ_SECONDS)

# On a machine with a GPU, with a Python that has torch, pytest and Mercer; nothing is installed for it.
GPU_PYTHON ?= python3
gpu-check:
	OMP_NUM_THREADS=1 $(GPU_PYTHON) -m pytest -q -rs -m gpu tests/gpu tests/learn/test_device.py
	$(GPU_PYTHON) benchmarks/gpu_maps.py
	$(GPU_PYTHON) benchmarks/gpu.py

bench: $(INSTALLED)
	$(BIN)/python benchmarks/speed.py

bench-quick: $(INSTALLED)
	$(BIN)/python benchmarks/speed.py --quick --json bench.json

DOCS_INSTALLED := $(VENV)/.docs-installed
$(DOCS_INSTALLED): $(INSTALLED)
	@echo '== downloading what builds the site'
	$(BIN)/python -c 'import $(DOCS_NEEDS)' 2>/dev/null || $(INSTALL_EDITABLE) '.[dev,docs]'
	@touch $@

# Every warning is an error: a link that leads nowhere, a formula that cannot be read, an example that fails.
docs: $(DOCS_INSTALLED)
	@echo '== the site: a few minutes the first time; afterwards only what has changed'
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx --nitpicky --fail-on-warning --keep-going --quiet docs build/docs
	$(BIN)/python tests/site_check.py build/docs
	@echo 'The site: build/docs/index.html'

papers: $(INSTALLED)
	$(BIN)/python experiments/papers.py

papers-full: $(INSTALLED)
	$(BIN)/python experiments/papers.py --full

clean:
	rm -rf $(VENV) $(LOWEST_VENV) build dist docs/gallery docs/reference/packages docs/sg_execution_times.rst bench.json experiments/results/quick .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
