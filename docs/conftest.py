"""Doctests of documents."""

import sys
from types import ModuleType

import pytest

# Sphinx runs it, and the tests do without Sphinx.
collect_ignore = ["conf.py"]


@pytest.fixture(autouse=True)
def a_document_is_a_module(request, monkeypatch):
    """Give a document a module of its own, so that classes it defines can be pickled, as those of a notebook can."""
    test = getattr(request.node, "dtest", None)
    if test is not None:
        module = ModuleType("document")
        module.__dict__.update(test.globs, __name__="document")
        monkeypatch.setitem(sys.modules, "document", module)
        test.globs = module.__dict__
