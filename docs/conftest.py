"""Doctests of documents."""

import sys
from types import ModuleType

import pytest

# Sphinx runs it; the tests do not need Sphinx.
collect_ignore = ["conf.py", "gallery_style.py"]


@pytest.fixture(autouse=True)
def document_module(request, monkeypatch):
    """Run a document as a module, so that its classes can be pickled."""
    test = getattr(request.node, "dtest", None)
    if test is not None:
        module = ModuleType("document")
        module.__dict__.update(test.globs, __name__="document")
        monkeypatch.setitem(sys.modules, "document", module)
        test.globs = module.__dict__
