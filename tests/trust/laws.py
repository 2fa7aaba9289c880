"""The laws of this folder as probes: each with many seeds, where the tests take one, in processes of their own."""

import functools
import inspect
import itertools
import warnings

import pytest
from tests.trust import (
    scratch,
    test_certificates,
    test_changes,
    test_huge,
    test_symmetry,
    test_tables,
)
from tests.trust.rules import Outcome

MODULES = (test_certificates, test_changes, test_huge, test_symmetry, test_tables)
SEEDS = range(100, 110)


def _sets(function):
    """Return for each parametrisation of a test its list of named values."""
    sets = []
    for mark in getattr(function, "pytestmark", ()):
        if mark.name == "parametrize":
            names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
            rows = [values if len(names) > 1 else (values,) for values in mark.args[1]]
            sets.append([dict(zip(map(str.strip, names), row, strict=True)) for row in rows])
    return sets


def _score(function, options):
    warnings.simplefilter("ignore")
    if "tmp_path" in inspect.signature(function).parameters:
        options = options | {"tmp_path": scratch.folder()}
    try:
        function(**options)
    except (AssertionError, pytest.fail.Exception) as error:
        return Outcome("silent", " ".join(str(error).split())[:200])
    except Exception as error:
        return Outcome("unclear", f"{type(error).__name__}: {error}"[:200])
    return Outcome("ok")


def all_laws():
    """Yield names and functions without arguments that score a law for one set of values."""
    for module in MODULES:
        for name, function in vars(module).items():
            if not name.startswith("test_") or not callable(function):
                continue
            wanted = inspect.signature(function).parameters.keys()
            sets = _sets(function)
            given = {key for each in sets for key in each[0]} | {"tmp_path"}
            if "global_random_seed" in wanted:
                sets.append([{"global_random_seed": seed} for seed in SEEDS])
                given.add("global_random_seed")
            if wanted <= given:
                for number, parts in enumerate(itertools.product(*sets)):
                    options = {key: value for part in parts for key, value in part.items()}
                    label = f"{module.__name__.rpartition('.')[2]}.{name}"
                    yield f"{label}:{number}", functools.partial(_score, function, options)
