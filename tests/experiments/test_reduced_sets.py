"""Tables II to IV of the paper of 1999: intercepts are optimal, and errors of constructed sets are as published."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import mercer as mc
from experiments import reduced_sets

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("overlap", [0.0, 1.0, 4.0])
def test_no_other_intercept_has_a_smaller_squared_hinge_loss(overlap):
    positive = RNG.random(200) < 0.2
    values, sign = RNG.normal(size=200) * overlap + positive, np.where(positive, 1, -1)

    def loss(constant):
        return np.sum(np.maximum(0, 1 - sign * (values + constant)) ** 2)

    best = minimize_scalar(loss, bounds=(-20, 20), method="bounded", options={"xatol": 1e-9}).fun
    assert loss(reduced_sets.intercept(values, positive)) == pytest.approx(best, rel=1e-12)


@pytest.fixture
def normals():
    return [mc.Expansion(mc.Gaussian(0.5), RNG.normal(size=(n, 2)), RNG.normal(size=n)) for n in (10, 20, 30)]


def test_equal_fractions_leave_the_wanted_number_on_average(normals):
    found = reduced_sets.equal_fractions(normals, [5, 12, 40], mc.Greedy())
    assert [len(psi.points) for psi, _ in found[12]] == [6, 12, 18]
    assert np.mean([len(psi.points) for psi, _ in found[5]]) == pytest.approx(5, abs=0.5)
    # an expansion with fewer points stays unchanged
    assert [psi for psi, _ in found[40]] == normals


def test_one_penalty_leaves_the_wanted_number_on_average(normals):
    found = reduced_sets.one_penalty(normals, [8], weighted=False)[8]
    assert np.mean([len(psi.points) for psi, _ in found]) == pytest.approx(8, abs=0.5)
    for (psi, relative), whole in zip(found, normals, strict=True):
        assert relative == pytest.approx(float(mc.sqdist(psi, whole)[0, 0] ** 0.5 / whole.norms()[0]), rel=1e-6)


@pytest.mark.data
@pytest.mark.slow
def test_errors_of_constructed_sets_are_as_published(data):
    data("usps")
    normals, digits = reduced_sets.trained("smoothed")
    found = reduced_sets.METHODS["RSC"](normals, [20, 50])
    for n, answers in found.items():
        # the standard error of a test error is 0.45 per cent
        error = reduced_sets.errors([psi for psi, _ in answers], digits)[1]
        assert error < reduced_sets.PUBLISHED["RSC"][n] + 0.45
