# Every target installs its requirements: it needs Python 3.11 or later and make only.
PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
BIN := $(VENV)/bin
PIP_INSTALL := -m pip install -q --disable-pip-version-check

# The default of MERCER_DATA is the folder ../shared/data, if it exists.
ifndef MERCER_DATA
ifneq ($(wildcard ../shared/data),)
export MERCER_DATA := $(abspath ../shared/data)
endif
endif

# conftest.py sets these too, but some plugins import NumPy and SciPy before it.
TEST_ENV := MPLBACKEND=Agg SCIPY_ARRAY_API=1
RUN_TESTS := -m pytest -n $(WORKERS) --dist loadfile

# The tests that run on a device too.
ON_DEVICE := tests/_compute/test_triton.py tests/_compute/test_normal.py tests/_compute/test_devices.py tests/estimators/test_model.py tests/test_factor.py
DEVICE ?= cpu

.DEFAULT_GOAL := help
.PHONY: demo test test-all check types verify-types mutants test-gpu trust bench reproduce floor docs clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.with-plot ## run the main tasks on digits; writes demo/index.html
	MPLBACKEND=Agg $(BIN)/mercer demo demo

test: $(VENV)/.with-dev ## run the tests: offline, one seed, a few minutes
	$(TEST_ENV) $(BIN)/python $(RUN_TESTS)

test-all: $(VENV)/.with-dev $(VENV)/.with-pinned-torch ## run all tests: with slow ones, all seeds, PyTorch
	MERCER_TEST_SEEDS=all $(TEST_ENV) $(BIN)/python $(RUN_TESTS) -m ""

check: $(VENV)/.with-dev ## check style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tools.type_documents

types: $(VENV)/.with-dev ## check the types of the code in README, documents and examples
	$(BIN)/python -m tools.type_documents

# scikit-learn has no types, so the classes that Mercer derives from are read in its stubs; these are wrong for other uses.
.venv-types/.with-dev: pyproject.toml | .venv-types/bin/python
	.venv-types/bin/python $(PIP_INSTALL) -e ".[dev]" scikit-learn-stubs
	@touch $@

verify-types: .venv-types/.with-dev ## print the share of public symbols whose types are complete
	PATH="$(CURDIR)/.venv-types/bin:$$PATH" .venv-types/bin/pyright --verifytypes mercer --ignoreexternal

mutants: $(VENV)/.with-dev ## run the mutation check: 110 small changes of the code that tests should detect; hours
	$(BIN)/python -m tools.mutate --jobs $(WORKERS)

trust: $(VENV)/.with-dev ## run all bad inputs, injected faults and a million damaged model files; writes trust/index.html; hours
	$(TEST_ENV) $(BIN)/python -m tests.trust --mutations 1000000 --workers $(WORKERS) --page trust

# benchmarks/svm_full.py takes an hour and runs alone.
bench: $(VENV)/.with-bench ## print the tables of all benchmarks, Mercer and peers
	@set -e; for script in $(filter-out benchmarks/svm_full.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script; done

# An interrupted run continues where it stopped.
reproduce: $(VENV)/.with-plot ## run the published experiments; writes reproduction/index.html; an hour, QUICK=1 10 minutes
	$(BIN)/python -m experiments

# The output in docstring examples is that of current NumPy, so doctests do not run here.
floor: .venv-floor/.with-dev ## run the tests with the lowest supported versions
	$(TEST_ENV) .venv-floor/bin/python $(RUN_TESTS) tests

# The interpreter of Triton 3.6 fails with NumPy 2.4; current versions fit each other.
test-gpu: .venv-gpu/.with-dev ## run the tests of kernels for GPUs in Triton's interpreter; with DEVICE=cuda on the device
	$(TEST_ENV) .venv-gpu/bin/python $(RUN_TESTS) $(ON_DEVICE) --device $(DEVICE) -m ""

# -E reads all pages again: warnings of unchanged pages would be lost.
docs: $(VENV)/.with-docs ## build the documentation in docs/_build/html
	$(BIN)/python -m sphinx -E -W --keep-going -b html docs docs/_build/html

clean: ## remove files of builds and tests, and the environments
	rm -rf .venv .venv-floor .venv-gpu .venv-types .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist demo reproduction trust docs/_build docs/api/generated docs/gallery
	find src tests benchmarks examples experiments -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/bin/python .venv-floor/bin/python .venv-gpu/bin/python .venv-types/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mercer needs Python 3.11 or later; use make PYTHON=...")'
	$(PYTHON) -m venv $(patsubst %/bin/python,%,$@)

# An existing environment is kept; changed requirements are installed into it.
$(VENV)/.with-pinned-torch: $(VENV)/.with-dev
	$(BIN)/python $(PIP_INSTALL) torch==2.13.0 'triton; platform_system == "Linux"'
	@touch $@

# The wheel of PyTorch for the processor; with DEVICE=cuda that of the index of PyTorch for the driver.
.venv-gpu/.with-dev: pyproject.toml | .venv-gpu/bin/python
	.venv-gpu/bin/python $(PIP_INSTALL) torch==2.13.0
	.venv-gpu/bin/python $(PIP_INSTALL) triton -e ".[dev]"
	@touch $@

$(VENV)/.with-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(PIP_INSTALL) -e ".[$*]"
	@touch $@

.venv-floor/.with-dev: pyproject.toml | .venv-floor/bin/python
	.venv-floor/bin/python -c 'import tomllib; pins = tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]; print(*(pin.replace(">=", "==") + ".*" for pin in pins), sep="\n")' > .venv-floor/pins.txt
	.venv-floor/bin/python $(PIP_INSTALL) -c .venv-floor/pins.txt -e ".[dev]"
	@touch $@
