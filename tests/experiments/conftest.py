"""Fixtures of the tests of experiments."""

import pytest


@pytest.fixture
def settings(monkeypatch):
    """Return a function that sets names of an experiment, as ``settings(module, COSTS=[1.0])``, for a quick run."""

    def change(experiment, **values):
        for name, value in values.items():
            monkeypatch.setattr(experiment, name, value)

    return change
