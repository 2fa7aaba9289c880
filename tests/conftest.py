"""Settings and fixtures of all tests."""

import os

# Set before NumPy or SciPy is imported.
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SCIPY_ARRAY_API", "1")
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
if WORKER:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"

import contextlib
import importlib
import importlib.util
import random
import sys
from pathlib import Path

import pytest
from tests.reference import inside

from mercer import datasets

# Numbers of single modules beyond which work is done in parts, in other ways, or not at all: by the name that `limits`
# gives them, the module, and its names. No other place of the tests knows them.
LIMITS = {
    "disk_rows": ("mercer.distributed.blocks", ("ROWS", "BLOCK")),
    "landmark_values": ("mercer.solvers.landmark_ridge", ("BLOCK",)),
    "landmark_rows": ("mercer.solvers.landmark_ridge", ("ROWS",)),
    "landmark_steps": ("mercer.solvers.landmark_ridge", ("_STEPS",)),
    "variance_rows": ("mercer.solvers.ridge", ("ROWS",)),
    "first_components": ("mercer.solvers.pca", ("LEAST",)),
    "factor_bytes": ("mercer.linalg.cholesky", ("TASK",)),
    "least_memory": ("mercer.least_squares", ("SMALL_MEMORY",)),
    "preimages": ("mercer.maps.coordinates", ("ROWS",)),
    "pair_values": ("mercer._compute.memory", ("BLOCK",)),
    "held_out_rows": ("mercer.estimators._few_vectors", ("_ENOUGH",)),
    "sample_rows": ("mercer.estimators.base", ("_SAMPLE",)),
    "added_rows": ("mercer.estimators._svc_blocks", ("_LEAST",)),
    "passes": ("mercer.estimators._svc_blocks", ("_PASSES",)),
    "many_rows": ("mercer.solvers.few_vectors.trials", ("MANY",)),
    "first_points": ("mercer.learning.tuning", ("_FEW",)),
    "geodesic_steps": ("mercer.manifold.geodesics", ("_STEPS",)),
    "geodesic_nodes": ("mercer.manifold.geodesics", ("_NODES",)),
    "steps_of_pairs": ("mercer.kernels.structured", ("_STEPS",)),
    "words": ("mercer.kernels.strings", ("_MOST_WORDS",)),
    "command_bytes": ("mercer.cli.tables", ("BUDGET",)),
    "more_columns": ("mercer.linalg.lanczos", ("_MORE",)),
    "noise_levels": ("mercer.solvers.few_vectors.trials", ("_LEVELS",)),
    "standard_errors": ("mercer.solvers.few_vectors.refit", ("SURE",)),
    "silent_seconds": ("mercer._compute.numba_compiler", ("_SILENT",)),
}


def pytest_addoption(parser):
    parser.addoption(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where tensors of PyTorch are"
    )


def pytest_configure(config):
    # kernels of Triton run on the processor, or are compiled for the device; before Triton is imported
    os.environ["TRITON_INTERPRET"] = "1" if config.getoption("device") == "cpu" else "0"
    # Chosen once: workers inherit a random choice, so that all of them collect the same tests.
    os.environ["MERCER_TEST_SEEDS"] = " ".join(map(str, _seeds()))
    if WORKER:
        # Processes that share a cache of compiled code can mix up its entries.
        base = os.environ.get("NUMBA_CACHE_DIR", str(config.rootpath / ".cache" / "numba"))
        os.environ["NUMBA_CACHE_DIR"] = str(Path(base) / WORKER)


def pytest_generate_tests(metafunc):
    if "global_random_seed" in metafunc.fixturenames:
        metafunc.parametrize("global_random_seed", _seeds(), scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark checks of scikit-learn as slow, except for those of the first setting, and each for one other in turn."""
    settings = {}
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if {"estimator", "check"} <= params.keys():
            of_test = settings.setdefault(item.nodeid.partition("[")[0], {})
            of_test.setdefault(id(params["estimator"]), []).append(item)
    for _, *others in map(dict.values, settings.values()):
        for i, checks in enumerate(others):
            for j, item in enumerate(checks):
                if j % len(others) != i:
                    item.add_marker(pytest.mark.slow)


def pytest_runtest_setup(item):
    if item.get_closest_marker("torch") and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed; `make test-all` installs it")
    if item.get_closest_marker("data") and not os.environ.get("MERCER_DATA"):
        pytest.skip("the environment variable MERCER_DATA is not set")


@pytest.fixture(scope="session")
def data():
    """Return a function that loads a data set of MERCER_DATA by name, or skips the test if the set is missing."""

    def load(name):
        try:
            return datasets.load(name)
        except FileNotFoundError:
            pytest.skip(
                f"no data set {name!r}; set the environment variable MERCER_DATA to the folder that holds it"
            )

    return load


@pytest.fixture(scope="session")
def tensor(pytestconfig):
    """Return a function that makes a tensor of PyTorch of an array, on the device of the option ``--device``."""
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed; `make test-all` installs it"
    )
    return lambda values: torch.as_tensor(values, device=pytestconfig.getoption("device"))


@pytest.fixture
def costs(monkeypatch):
    """Return a function that sets numbers of the table of costs where they are read, as ``costs(BLOCK=100)``.

    Small problems then take the routes, and as many blocks, as large ones do.
    """
    read = {}

    def change(**numbers):
        for name, value in numbers.items():
            table = getattr(inside.costs, name)
            if name not in read:
                read[name] = {
                    id(each): each
                    for key, each in list(sys.modules.items())
                    if key.startswith("mercer.")
                    and each is not inside.costs
                    and vars(each).get(name) is table
                }
            assert read[name], f"no module reads {name}"
            for module in read[name].values():
                monkeypatch.setattr(module, name, value)

    return change


@pytest.fixture
def limits(monkeypatch):
    """Return a function that sets numbers of `LIMITS` as ``limits(disk_rows=70)``: small problems reach them."""

    def change(**numbers):
        for name, value in numbers.items():
            module, attributes = LIMITS[name]
            for attribute in attributes:
                monkeypatch.setattr(importlib.import_module(module), attribute, value)

    return change


@pytest.fixture
def failing(monkeypatch):
    """Return the context manager ``failing(name, error)``, in which a first call of a function of `os` fails."""

    @contextlib.contextmanager
    def fail(name, error):
        function, errors = getattr(os, name), iter([error])

        def call(*args, **options):
            for each in errors:
                raise each
            return function(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(os, name, call)
            yield

    return fail


@pytest.fixture(scope="session")
def using_threads():
    """Return the context manager ``using_threads(n)``, in which calls use exactly n threads."""
    return inside.using_threads


@pytest.fixture(scope="session")
def listening():
    """Return the context manager ``listening(function)``, in which solvers report their steps to a function."""
    return inside.listening


def pytest_report_header():
    return f"MERCER_TEST_SEEDS: {_seeds()}, MERCER_DATA: {'set' if os.environ.get('MERCER_DATA') else 'not set'}"


def _seeds():
    """Return the seeds in MERCER_TEST_SEEDS: numbers such as "3 7", "all" for 0 to 9, "any" for a random one."""
    wanted = os.environ.get("MERCER_TEST_SEEDS", "42")
    if wanted == "all":
        return list(range(10))
    if wanted == "any":
        wanted = str(random.SystemRandom().randrange(10))
    return [int(word) for word in wanted.split()]
