# make demo and make test need python3 (3.10 or newer), pip and make; they prepare .venv by themselves.

PYTHON ?= python3
VENV ?= .venv
# More to install: make test EXTRA=torch also runs the tests of the GPU kernels, on an emulator.
EXTRA ?=
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := $(VENV)/.demo-installed

.PHONY: help demo test lint format docs pictures dist wheels sanitize fuzz clean
.DEFAULT_GOAL := help

help:  ## say what can be made
	@grep -E '^[a-z]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/:.*## /\t/' | expand -t 10

demo: $(DEMO)  ## generate actions, train, evaluate across subjects, draw (kerneton-demo/)
	$(BIN)/kerneton demo -o kerneton-demo

# A file's tests run in one process, so that what they share is made once.
test: lint  ## linting, formatting, types, layers, tests
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder --durations=15

lint: $(STAMP)  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP)  ## bring the generated pages up to date and build the site (docs/_build/html/index.html)
	$(BIN)/python docs/generate.py
	$(BIN)/sphinx-build -W --keep-going -q -d docs/_build/doctrees docs docs/_build/html

pictures: $(STAMP)  ## draw the pictures of the first page again (needs Chromium)
	$(BIN)/python docs/front_pictures.py docs/front

# LOWEST=1 tries them with the lowest versions that pyproject.toml names; PYTHON=python3.10 with another Python.
dist: $(STAMP)  ## build the wheel and the sdist (dist/) and try each in an empty environment
	rm -rf dist .venv-dist
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv .venv-dist
	$(BIN)/python .ci/lowest.py > .venv-dist/lowest.txt
	.venv-dist/bin/pip install --quiet --disable-pip-version-check $(if $(LOWEST),-c .venv-dist/lowest.txt) dist/*.whl
	cd .venv-dist && env -u PYTHONPATH bin/python ../tests/smoke.py
	.venv-dist/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*.tar.gz
	cd .venv-dist && env -u PYTHONPATH bin/python ../tests/smoke.py

PLATFORMS ?= linux-x86_64 linux-aarch64 macos-x86_64 macos-aarch64 windows-x86_64
wheels: $(STAMP)  ## build the wheels of all platforms on this machine (dist/) and check them
	$(BIN)/pip install --quiet --disable-pip-version-check hatchling ziglang
	for platform in $(PLATFORMS); do KERNETON_TARGET=$$platform $(BIN)/python -m build --no-isolation --wheel --outdir dist . || exit 1; done
	$(BIN)/python .ci/check_wheels.py dist $(PLATFORMS)
	.ci/try_aarch64

# Needs clang++ with its runtime, or g++ with its sanitizers' libraries.
sanitize: $(STAMP)  ## the core's tests with checks of addresses and undefined behaviour
	.ci/sanitize

# Readers and model files under a coverage-guided fuzzer; SECONDS=3600 for an hour. What it finds worth keeping lies in .fuzz/.
SECONDS ?= 60
fuzz: $(STAMP)  ## feed mutated files to readers and models for SECONDS=60
	$(BIN)/pip install --quiet --disable-pip-version-check atheris || true
	PYTHONPATH=tests $(BIN)/python tests/coverage_fuzz.py --seconds $(SECONDS) --corpus .fuzz

clean:  ## remove the environment, caches and the demo's output
	rm -rf $(VENV) .venv-tools .venv-dist dist .fuzz .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis kerneton-demo \
	  examples-out docs/_build docs/_generated docs/gallery
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "Kerneton needs Python 3.10 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || { \
	  echo "python3 -m venv does not work here (on Debian: apt install python3-venv); trying virtualenv" >&2; \
	  rm -rf $(VENV); \
	  $(PYTHON) -m pip install --quiet --target .venv-tools virtualenv \
	  && PYTHONPATH=.venv-tools $(PYTHON) -m virtualenv --quiet $(VENV); }

# Installed once, and again whenever the dependencies may have changed.
$(STAMP): pyproject.toml hatch_build.py $(wildcard core/*) | $(BIN)/pip
	@echo "Installing Kerneton with what its tests and documentation need in $(VENV) (about 1.3 GB) ..."
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]' $(EXTRA)
	@touch $(STAMP) $(DEMO)

# What the demo needs and no more.
$(DEMO): pyproject.toml hatch_build.py $(wildcard core/*) | $(BIN)/pip
	@echo "Installing Kerneton with NumPy, SciPy, scikit-learn and Matplotlib in $(VENV) ..."
	$(BIN)/pip install --disable-pip-version-check --progress-bar on -e '.[plot]'
	@touch $(DEMO)
