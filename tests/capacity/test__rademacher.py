import numpy as np
import pytest

import mercer as mc
from mercer import capacity
from mercer.capacity import local_complexity, local_rademacher, rademacher, spectrum


@pytest.fixture(scope="module")
def plain():
    return spectrum(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(80, 2)), centre=False)


@pytest.mark.parametrize("r", [0.001, 0.03, 10.0])
def test_the_local_complexity_is_bounded(plain, r):
    # a lower bound of the supremum: the functions with |w|^2 + P_n f^2 / r <= 1 are in the class
    rng = np.random.default_rng(1)
    K = mc.Gaussian(0.5)(np.random.default_rng(0).normal(size=(80, 2)))
    values, V = np.linalg.eigh(K)
    shrunk = np.maximum(values, 0) / (1 + np.maximum(values, 0) / (80 * r))
    signs = rng.choice([-1.0, 1.0], (2000, 80))
    suprema = np.sqrt(np.square(signs @ V) @ shrunk) / 80
    assert suprema.mean() <= local_complexity(plain, r)
    # and within the factor sqrt(2) times another one that the two shapes differ by
    assert local_complexity(plain, r) <= 2.1 * suprema.mean()


def test_the_whole_ball_has_the_complexity_of_the_trace(plain):
    assert np.isclose(local_complexity(plain, 1e9), np.sqrt(2 * plain.trace) / 80)


def test_the_fixed_point_is_between_that_of_no_direction_and_that_of_all(plain):
    value = local_rademacher(plain).value
    assert 0 < value <= np.sqrt(plain.trace) / 80
    assert value <= len(plain.values) / 80 + 1e-6


def test_part_of_a_spectrum_gives_no_smaller_complexity(plain):
    part = spectrum(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(80, 2)), 10, centre=False)
    assert local_complexity(part, 0.01) >= local_complexity(plain, 0.01)
    assert local_rademacher(part).value >= local_rademacher(plain).value


def test_a_centred_spectrum_is_refused():
    with pytest.raises(ValueError, match="centre=False"):
        local_rademacher(spectrum(mc.Linear(), np.eye(3)))


def test_the_margin_bound_is_that_of_the_formula_at_its_best_scale():
    X = np.linspace(-3, 3, 1000)[:, None]
    y = np.where(X[:, 0] > 0, 1, -1)
    own = capacity.model(mc.SVC(C=0.1, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    norm = np.hypot(own.norm, own.bias)
    best = np.inf
    for j in range(-20, 21):
        own_delta = (2 / 3) * 0.05 / ((abs(j) + 1) * (abs(j) + 2))
        margin = norm / 2.0**j
        failed = np.mean(own.margins < margin)
        best = min(best, failed + 2 * 2.0**j * np.sqrt(2000) / 1000 + 3 * np.sqrt(np.log(2 / own_delta) / 2000))
    assert np.isclose(rademacher(own).value, best)


def test_the_scale_of_the_outputs_does_not_matter():
    from dataclasses import replace

    X = np.linspace(-3, 3, 500)[:, None]
    y = np.where(X[:, 0] > 0, 1, -1)
    own = capacity.model(mc.SVC(C=0.1, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    larger = replace(own, outputs=8 * own.outputs, norm=8 * own.norm, bias=8 * own.bias)
    assert np.isclose(rademacher(own).value, rademacher(larger).value)
