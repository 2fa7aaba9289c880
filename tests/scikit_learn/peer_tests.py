"""The tests of an installed scikit-learn, with names of its classes replaced by others."""

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

from mercer.sklearn.switch import HOMES

# Mercer's subclasses of scikit-learn's classes
PATCHED = {home.__name__: classes for home, classes in HOMES.items()}
_NAMES = re.compile(
    rf"\b({'|'.join(each.__name__ for found in ADAPTERS.values() for each in found)})\b"
)


def load(name, classes=ADAPTERS):
    """Return the tests of a module of scikit-learn that mention a replaced class, by name.

    ``classes`` are the classes in their place, for the name of each module.
    """
    if not sklearn.__version__.startswith(f"{VERSION}."):
        pytest.skip(
            f"the list of differences is for the tests of scikit-learn {VERSION}, not {sklearn.__version__}",
            allow_module_level=True,
        )
    # the original first: what it imports must not keep the replaced names
    spec = importlib.import_module(name).__spec__
    module = importlib.util.module_from_spec(spec)
    replaced = {path: _with_classes(path, found) for path, found in classes.items()}
    short = {path.removeprefix("sklearn."): proxy for path, proxy in replaced.items()}
    with mock.patch.dict(sys.modules, replaced), mock.patch.multiple(sklearn, **short, create=True):
        spec.loader.exec_module(module)
    tests = {
        key: value
        for key, value in vars(module).items()
        if key.startswith("test_") and callable(value)
    }
    return {key: value for key, value in tests.items() if _NAMES.search(inspect.getsource(value))}


def _with_classes(path, classes):
    """Return a copy of a module of scikit-learn with others in the place of its classes."""
    proxy = ModuleType(path)
    vars(proxy).update(vars(importlib.import_module(path)))
    vars(proxy).update({each.__name__: each for each in classes})
    return proxy
