# Every target builds what it needs: a machine with Python 3.11 or later and make is enough.
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install -q --disable-pip-version-check

# A folder of data beside the checkout is used unless another one is named.
ifndef MERCER_DATA
ifneq ($(wildcard ../shared/data),)
export MERCER_DATA := $(abspath ../shared/data)
endif
endif

# Read before NumPy and SciPy are first imported, so conftest.py alone would be too late for some plugins.
TEST_ENV := MPLBACKEND=Agg SCIPY_ARRAY_API=1
TEST_HOW := -m pytest -n $(WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: demo test test-all check mutants bench reproduce floor docs clean help

help: ## say what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.with-plot ## denoise, look inside and compress on digits; writes demo/index.html
	MPLBACKEND=Agg $(BIN)/mercer demo demo

test: $(VENV)/.with-dev ## the tests: offline, one seed, a few minutes
	$(TEST_ENV) $(BIN)/python $(TEST_HOW)

test-all: $(VENV)/.with-dev $(VENV)/.with-pinned-torch ## the tests, the slow ones, all seeds, PyTorch
	MERCER_TEST_SEEDS=all $(TEST_ENV) $(BIN)/python $(TEST_HOW) -m ""

check: $(VENV)/.with-dev ## style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo

mutants: $(VENV)/.with-dev ## the mutation check: 110 small changes of the code that the tests should notice; an hour
	$(BIN)/python -m tools.mutate --jobs $(WORKERS)

bench: $(VENV)/.with-bench ## the tables of benchmarks, peers beside Mercer, one after the other
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script; done

# Some need the data that MERCER_DATA names, and say so; the others still run.
reproduce: $(VENV)/.with-plot ## the published tables and figures, one script after the other; some take minutes
	@failed=; for script in $(filter-out %/__init__.py,$(wildcard experiments/*.py)); do echo "== $$script"; \
	$(BIN)/python -m experiments.$$(basename $$script .py) || failed="$$failed $$script"; done; \
	test -z "$$failed" || { echo "did not run through:$$failed"; exit 1; }

# Examples in docstrings show what today's NumPy prints, so only the tests proper run here.
floor: .venv-floor/.with-dev ## the tests with the lowest versions that the project allows
	$(TEST_ENV) .venv-floor/bin/python $(TEST_HOW) tests

# All pages are read anew: warnings of pages kept from an earlier run would be lost.
docs: $(VENV)/.with-docs ## the documentation, as HTML in docs/_build/html
	$(BIN)/python -m sphinx -E -W --keep-going -b html docs docs/_build/html

clean: ## remove what builds and tests left behind, the environments too
	rm -rf .venv .venv-floor .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist demo docs/_build docs/api/generated docs/gallery
	find src tests benchmarks examples experiments -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/bin/python .venv-floor/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mercer needs Python 3.11 or later; say make PYTHON=...")'
	$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)

# An environment that exists is kept; changed requirements are installed into it.
$(VENV)/.with-pinned-torch: $(VENV)/.with-dev
	$(BIN)/python $(PIP_INSTALL) torch==2.13.0
	@touch $@

$(VENV)/.with-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(PIP_INSTALL) -e ".[$*]"
	@touch $@

.venv-floor/.with-dev: pyproject.toml | .venv-floor/bin/python
	.venv-floor/bin/python -c 'import tomllib; pins = tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]; print(*(pin.replace(">=", "==") + ".*" for pin in pins), sep="\n")' > .venv-floor/pins.txt
	.venv-floor/bin/python $(PIP_INSTALL) -c .venv-floor/pins.txt -e ".[dev]"
	@touch $@
