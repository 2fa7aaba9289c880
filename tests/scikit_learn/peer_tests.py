"""The tests of an installed scikit-learn, with names of its classes replaced by adapters."""

import importlib
import importlib.util
import inspect
import re
import sys
from types import ModuleType
from unittest import mock

import pytest
import sklearn
from tests.scikit_learn.adapter import ADAPTERS
from tests.scikit_learn.differences import VERSION

_NAMES = re.compile(rf"\b({'|'.join(each.__name__ for found in ADAPTERS.values() for each in found)})\b")


def load(name):
    """Return the tests of a module of scikit-learn that mention an adapted class, by name."""
    if not sklearn.__version__.startswith(f"{VERSION}."):
        pytest.skip(
            f"the list of differences is for the tests of scikit-learn {VERSION}, not {sklearn.__version__}",
            allow_module_level=True,
        )
    # the original first: what it imports must not keep the replaced names
    spec = importlib.import_module(name).__spec__
    module = importlib.util.module_from_spec(spec)
    replaced = {path: _with_adapters(path) for path in ADAPTERS}
    short = {path.removeprefix("sklearn."): proxy for path, proxy in replaced.items()}
    with mock.patch.dict(sys.modules, replaced), mock.patch.multiple(sklearn, **short, create=True):
        spec.loader.exec_module(module)
    tests = {key: value for key, value in vars(module).items() if key.startswith("test_") and callable(value)}
    return {key: value for key, value in tests.items() if _NAMES.search(inspect.getsource(value))}


def _with_adapters(path):
    """Return a copy of a module of scikit-learn with its classes replaced by adapters."""
    proxy = ModuleType(path)
    vars(proxy).update(vars(importlib.import_module(path)))
    vars(proxy).update({adapter.__name__: adapter for adapter in ADAPTERS[path]})
    return proxy
