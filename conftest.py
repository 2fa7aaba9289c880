"""The fixture of all tests and documents, which closes their figures."""

import sys

import pytest


@pytest.fixture(autouse=True)
def no_open_figures():
    """Close figures after each test and document: Matplotlib warns of more than twenty, and warnings are errors."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
