"""Settings and fixtures of all tests."""

import os

# Before anything imports NumPy or SciPy.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SCIPY_ARRAY_API", "1")
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
if WORKER:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"

import importlib.util
import random
from pathlib import Path

import pytest

from mercer import datasets


def pytest_configure(config):
    # Here rather than at collection: workers inherit a choice made by chance, and all must collect the same tests.
    os.environ["MERCER_TEST_SEEDS"] = " ".join(map(str, _seeds()))
    if WORKER:
        # Processes that write to one cache of compiled code can mix up its entries.
        base = os.environ.get("NUMBA_CACHE_DIR", str(config.rootpath / ".cache" / "numba"))
        os.environ["NUMBA_CACHE_DIR"] = str(Path(base) / WORKER)


def pytest_generate_tests(metafunc):
    if "global_random_seed" in metafunc.fixturenames:
        metafunc.parametrize("global_random_seed", _seeds(), scope="session")


def pytest_runtest_setup(item):
    if item.get_closest_marker("torch") and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed; `make test-all` installs it")
    if item.get_closest_marker("data") and not os.environ.get("MERCER_DATA"):
        pytest.skip("the environment variable MERCER_DATA names no folder")


@pytest.fixture(scope="session")
def data():
    """Give a function that loads a set of MERCER_DATA by name, and skips the test where it is not there."""

    def load(name):
        try:
            return datasets.load(name)
        except FileNotFoundError:
            pytest.skip(f"no data set {name!r}; set the environment variable MERCER_DATA to the folder that holds it")

    return load


def pytest_report_header():
    return f"MERCER_TEST_SEEDS: {_seeds()}, MERCER_DATA: {'set' if os.environ.get('MERCER_DATA') else 'not set'}"


def _seeds():
    """Read MERCER_TEST_SEEDS: numbers such as "3 7", "all" for 0 to 9, "any" for one of them by chance."""
    wish = os.environ.get("MERCER_TEST_SEEDS", "42")
    if wish == "all":
        return list(range(10))
    if wish == "any":
        wish = str(random.SystemRandom().randrange(10))
    return [int(word) for word in wish.split()]
