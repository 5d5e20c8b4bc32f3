# Everything happens inside the checkout: the environment is .venv, and a stamp in it says which extras are installed.
# Needs Python >= 3.11 with venv, git and make. PYTHON=/path/to/python chooses the interpreter.

VENV := .venv
BIN := $(VENV)/bin

# A name on the PATH may be a launcher without an interpreter behind it, so each candidate is run.
PYTHON ?= $(shell for candidate in python3.13 python3.12 python3.11 python3 python; do \
	$$candidate -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$candidate && break; done)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-slow test-core test-oldest test-newest check docs site bench bench-peers first-call doctor clean

help:
	@echo "make demo       install and draw Wigner's cat"
	@echo "make test       install and run the test suite and its float32 part without 64-bit types, with one verdict"
	@echo "make test-slow  the long statistical tests"
	@echo "make test-oldest  the suite with the lowest versions that pyproject.toml allows, in .venv-oldest (TARGET=test-core for"
	@echo "                a part of minutes)"
	@echo "make test-newest  the suite with the newest versions, in .venv-newest (PYTHON=… for a newer interpreter)"
	@echo "make check      style, types, layers, spelling, manual"
	@echo "make docs       the manual, in docs/_build/html"
	@echo "make site       the manual beside those of other versions, in SITE=docs/_build/site"
	@echo "make bench      the benchmark cases, sized for this machine, and the cat against its plain loop"
	@echo "make bench-peers  the same work in other packages, in .venv-peers: answers, times, memory (ten minutes)"
	@echo "make first-call what the first call of every public name costs (an hour; ONLY=GOE for a part)"
	@echo "make doctor     what is installed, how it is set, and whether it computes right"
	@echo "make clean      remove the environment, caches and built files"

demo: $(VENV)/.installed-plot
	$(BIN)/python examples/wigner_cat.py

# Most of the time goes into compilation, on one core: a process for each core, up to four, and whole files to each.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

# The second run does not wait for the first to be green: one verdict on both, in the last line.
test: $(VENV)/.installed-test
	@failed=; \
	$(PYTEST) || failed="the suite"; \
	RMTJAX_X64=0 $(PYTEST) -m "float32 and not slow" || failed="$${failed:+$$failed and }its float32 part"; \
	if [ -n "$$failed" ]; then echo "make test: failed: $$failed" >&2; exit 1; fi; \
	echo "make test: the suite and its float32 part passed"

test-slow: $(VENV)/.installed-test $(VENV)/.installed-data
	@export RMTJAX_FULL_COMPILATION=1; failed=0; \
	$(PYTEST) -m slow || failed=1; \
	RMTJAX_X64=0 $(PYTEST) -m "float32 and slow" || failed=1; \
	exit $$failed

# What a version of JAX changes first: types on meshes, modes, generators, compilation, and each kind of computation.
CORE := tests/test_module.py tests/test_checks.py tests/test_compile.py tests/test_threefry.py tests/test_meshes.py \
	tests/test_modes.py tests/ensembles/test_battery.py tests/linalg/test_hermitian.py \
	tests/simulation/test_simulate.py tests/spectra/test_levels.py

test-core: $(VENV)/.installed-test
	$(PYTEST) $(CORE)

TARGET := test
test-oldest:
	$(MAKE) $(TARGET) VENV=.venv-oldest RESOLUTION=lowest-direct

test-newest:
	$(MAKE) $(TARGET) VENV=.venv-newest

# The type checker and the manual import every package, also those that need an extra.
check: $(VENV)/.installed-test $(VENV)/.installed-lint $(VENV)/.installed-docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs examples benchmarks scripts README.md CHANGELOG.md CONTRIBUTING.md
	@$(MAKE) --no-print-directory docs

# In a terminal it says how far it is.
docs: $(VENV)/.installed-test $(VENV)/.installed-docs
	@[ -t 1 ] || quiet=-q; $(BIN)/sphinx-build -W --keep-going $$quiet -j auto -b html docs docs/_build/html
	@echo "The manual is docs/_build/html/index.html"

# The manual beside those of other versions, as a web server shows them.
SITE := docs/_build/site
site: docs
	mkdir -p $(SITE)
	$(BIN)/python docs/site_of_versions.py $(SITE)

# The peers have an environment of their own, and those that cannot live beside this library have more (apart.py).
bench-peers:
	$(MAKE) .venv-peers/.installed-peers VENV=.venv-peers
	OPENBLAS_NUM_THREADS=1 .venv-peers/bin/python benchmarks/peers.py

bench: $(VENV)/.installed-bench
	$(BIN)/python -m rmtjax.benchmark
	$(BIN)/python benchmarks/cat_baseline.py

first-call: $(VENV)/.installed-test
	$(BIN)/python benchmarks/first_call.py $(if $(ONLY),--only '$(ONLY)')

doctor: $(VENV)/.installed-test
	$(BIN)/python -m rmtjax.doctor

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest .venv-peers .jax_cache .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache docs/_build dist

$(VENV)/pyvenv.cfg:
	@test -n "$(PYTHON)" || { echo "No Python >= 3.11 with venv found; name one with PYTHON=/path/to/python." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-%: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing rmtjax[$*] into $(VENV) (a few minutes the first time)"
ifdef RESOLUTION # pip knows no lowest versions
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --resolution $(RESOLUTION) --editable ".[$*]"
else # Python compiles what it imports; compiling all modules here takes longer than the rest.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[$*]"
endif
	@touch $@
