"""A saved model that tests of the format damage."""

import pytest
from tests.formats.golden import make

import mercer as mc


@pytest.fixture
def saved(tmp_path):
    """Give a file of a small model, its bytes, and a function that writes other bytes over it and loads them."""
    path = tmp_path / "svc.mercer"
    mc.save(make.models()["SVC"], path)

    def load(content):
        path.write_bytes(content)
        return mc.load(path)

    load.path, load.content = path, path.read_bytes()
    return load
