"""Marks the tests of scikit-learn that Mercer's classes fail on purpose.

An unlisted failure is an error, and so is a listed test that passes or that fails by another error.
"""

import importlib.util
from pathlib import Path

import pytest
from tests.scikit_learn.differences import difference

_HERE = Path(__file__).parent
# run by tests, and not imported
collect_ignore_glob = ["scripts/*"]


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: a mark in scikit-learn's tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    own = [item for item in items if item.path.parent == _HERE]
    impossible = [item for item in own if not _is_installed(item)]
    config.hook.pytest_deselected(items=impossible)
    items[:] = [item for item in items if item not in impossible]
    for item in own:
        # the tests are about results; Mercer's warnings have tests of their own
        item.add_marker(pytest.mark.filterwarnings("ignore"))
        found = difference(f"{item.path.name}::{item.name}")
        if found is not None:
            raises = pytest.RaisesExc(found.error, match=found.message or None)
            item.add_marker(pytest.mark.xfail(reason=found.reason, raises=raises, strict=True))


def _is_installed(item):
    """Return whether the array library of a test is installed."""
    library = item.callspec.params.get("array_namespace") if hasattr(item, "callspec") else None
    return library is None or importlib.util.find_spec(library) is not None
