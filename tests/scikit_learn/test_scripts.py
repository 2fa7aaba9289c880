"""Scripts of scikit-learn, in the spirit of its gallery, give the same with Mercer's classes in its place."""

import logging
import runpy
from pathlib import Path

import numpy as np
import pytest

import mercer as mc

SCRIPTS = sorted(Path(__file__).parent.joinpath("scripts").glob("*.py"))
# Those with a part that scikit-learn fits, and a part of the reason.
FITTED_BY_SCIKIT_LEARN = {
    "kernels": "kernel = 'sigmoid' is indefinite",
    "probability": "probability = True",
}


@pytest.fixture
def patched():
    mc.patch_sklearn()
    yield
    mc.unpatch_sklearn()


def test_there_are_twenty():
    assert len(SCRIPTS) == 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_gives_the_same(script, request, caplog):
    caplog.set_level(logging.INFO, "mercer.sklearn")
    plain = runpy.run_path(str(script))
    assert not caplog.records
    request.getfixturevalue("patched")
    found = runpy.run_path(str(script))
    reasons = {
        record.getMessage().partition(": ")[2]
        for record in caplog.records
        if record.name == "mercer.sklearn"
    }
    expected = FITTED_BY_SCIKIT_LEARN.get(script.stem)
    assert all(expected and reason.startswith(expected) for reason in reasons), reasons
    assert bool(reasons) == bool(expected)
    if "labels" in plain:
        assert found["labels"].shape == plain["labels"].shape
        assert np.mean(found["labels"] == plain["labels"]) >= 0.999
    if "values" in plain:
        # the tolerance of support vector machines
        scale = np.abs(plain["values"]).max()
        np.testing.assert_allclose(
            found["values"], plain["values"], rtol=0, atol=5e-3 * max(scale, 1)
        )
