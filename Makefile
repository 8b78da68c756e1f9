# Everything runs in .venv, which is made on first use. A machine with Python 3.11+, git and make is enough.
#
#   make demo        install, start a real Neo4j and walk through the whole method
#   make test        install what the tests need and run them
#   make check       lint, types, wheel-test and test: what the CI runs

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
PY := $(VENV)/bin/python
RUN := $(VENV)/bin/python -m

# The first Python of at least 3.11 that really runs (a version manager's shim may exist and refuse) and can make an
# environment. PYTHON=... on the command line overrides the choice.
CANDIDATES := python3 python3.13 python3.12 python3.11 python3.14 python
PYTHON ?= $(shell for candidate in $(CANDIDATES); do \
	if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then command -v $$candidate; break; fi; done)

# An environment knows its absolute path. When the checkout has been moved, its stamps no longer match.
STAMP := $(shell printf '%s' '$(CURDIR)' | cksum | cut -d' ' -f1)
RUNTIME := $(VENV)/.installed-$(STAMP)
DEV := $(VENV)/.installed-dev-$(STAMP)
TRAIN := $(VENV)/.installed-train-$(STAMP)

# verl's environment stands apart: it pins releases that others do not want. It takes Python 3.11 or 3.12.
VENV_VERL ?= .venv-verl
VERL := $(VENV_VERL)/.installed-$(STAMP)
PYTHON_VERL ?= $(shell for candidate in $(PYTHON) python3.12 python3.11 python3 python; do \
	if $$candidate -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' \
	>/dev/null 2>&1; then command -v $$candidate; break; fi; done)

# One after the other, on a machine that does nothing else. BENCHMARKS="label evolve" runs some of them.
BENCHMARKS ?= alfworld_engine vector shaping build label evolve local_server token_advantages

.PHONY: help install demo test test-verl test-verl-long lint types format wheel-test bench evidence docs site notebooks check clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(RUNTIME): pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
		echo "No usable Python: version 3.11 or later with the venv module is needed." >&2; \
		echo "Install one (on Debian and Ubuntu: python3 python3-venv) or say make PYTHON=/path/to/python3.11" >&2; \
		exit 1; fi
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV): pyproject.toml $(RUNTIME)
	$(RUN) pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(TRAIN): pyproject.toml $(DEV)
	$(RUN) pip install --quiet --disable-pip-version-check --editable '.[dev,train]'
	@touch $@

install: $(RUNTIME)  ## Install ProAS into .venv

demo: $(RUNTIME)  ## Install, start a real Neo4j, and show the method end to end
	$(VENV)/bin/proas demo

test: $(DEV)  ## Install what the tests need and run them
	$(RUN) pytest -n logical --maxprocesses 4 --dist loadfile

$(VERL): pyproject.toml tests/verl/requirements.txt tests/verl/overrides.txt
	$(PYTHON_VERL) -m venv --clear $(VENV_VERL)
	$(VENV_VERL)/bin/python -m pip install --quiet --disable-pip-version-check uv
	@# uv takes from pip's settings nothing by itself; the index that the user has set for pip is meant for it too.
	index="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(VENV_VERL)/bin/python -m pip config get global.index-url \
		2>/dev/null || true)}}"; if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi; \
	export VIRTUAL_ENV=$(VENV_VERL); \
	$(VENV_VERL)/bin/uv pip install --quiet --editable . \
		--requirement tests/verl/requirements.txt --override tests/verl/overrides.txt; \
	$(VENV_VERL)/bin/uv pip install --quiet --no-deps trinity-rft==0.6.0
	@touch $@

# Two at a time, as most of a run of verl is one process waiting for another. The reference trainer's tests come along:
# they need torch, which `make test` does without.
VERL_MARK := not long
TESTS_VERL := tests/verl tests/unit/training tests/integration/training $(addprefix tests/e2e/test_,training.py \
	cli_diagnose.py evidence_smoke.py)

test-verl:  ## Test the verl plug-in and the trainer in an environment that has verl and torch: whole steps, on the CPU
	@if [ -z "$(PYTHON_VERL)" ]; then \
		echo "Not run: verl needs Python 3.11 or 3.12, and none was found. PYTHON_VERL=... names one."; \
	else $(MAKE) --no-print-directory $(VERL) && $(VENV_VERL)/bin/python -m pytest -n 2 --dist loadfile \
		--no-loadscope-reorder --durations 15 -m "$(VERL_MARK)" $(TESTS_VERL); fi

test-verl-long:  ## The same for runs of verl of several steps: asynchronous, killed and resumed, with DAPO's filter
	@$(MAKE) --no-print-directory test-verl VERL_MARK=long TESTS_VERL=tests/verl

lint: $(DEV)  ## Check style
	$(RUN) ruff check .
	$(RUN) ruff format --check .

types: $(DEV)  ## Check types, strictly
	$(RUN) mypy

format: $(DEV)  ## Rewrite the sources in the project's style
	$(RUN) ruff check --fix .
	$(RUN) ruff format .

wheel-test: $(DEV)  ## Build wheel and sdist, install the wheel in a clean environment, try it
	$(PY) .ci/check_wheel.py

bench: $(DEV)  ## Measure; results go to benchmarks/results
	@mkdir -p benchmarks/results
	@for name in $(BENCHMARKS); do echo "== $$name"; \
		$(PY) benchmarks/$$name.py --out benchmarks/results/$$name.json || exit 1; done

# JOBS runs go side by side, one core each. EVIDENCE takes more words: "main controls" for some of the tables, "--smoke" to
# check the mechanics in minutes, "--budget-minutes 60" to stop between runs, "--missing" for what has no result yet.
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1)
EVIDENCE ?=

evidence: $(TRAIN)  ## Do every run of docs/evidence.md again and write it anew: hours, resumable
	$(VENV)/bin/proas evidence run --jobs $(JOBS) $(EVIDENCE)

docs: $(DEV)  ## Write docs/cli.md from the commands themselves
	$(PY) docs/generate_reference.py

site: $(DEV)  ## Build the documentation as a site, into build/site; a warning is a failure
	$(RUN) mkdocs build --strict

notebooks: $(DEV)  ## Run the notebooks from top to bottom, as the tests do, on a real server
	$(RUN) pytest -q -p no:cacheprovider tests/integration/notebooks

check: lint types wheel-test test test-verl  ## All that the CI runs

clean:  ## Remove the environment and everything built; data of the local server stays
	rm -rf $(VENV) $(VENV_VERL) build dist demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf ./*.egg-info
