"""covering_bound: the balls cover the functions, the formula is that of the theorem, and errors are below the bound."""

from dataclasses import replace

import numpy as np
import pytest

import mercer as mc
from mercer.capacity import (
    ExponentialDecay,
    ListedDecay,
    PolynomialDecay,
    covering_bound,
    feature_entropy_number,
)


def _separated(seed=0, n=2000, gap=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = (rng.uniform(gap, 3, n) * (2 * y - 1))[:, None]
    return X, y, mc.SVC(C=10.0, kernel=mc.Gaussian(0.1)).fit(X, y)


@pytest.fixture(scope="module")
def model():
    X, y, fitted = _separated()
    return mc.capacity.model(fitted, X, y)


def log_balls(decay, bound, radius, n):
    """Return the log number of balls in the bound, at half the margin 2 radius = 2^j of n points."""
    one, size = np.ones(n), abs(int(np.log2(2 * radius)))
    model = mc.capacity.Model(
        mc.Linear(), one[:, None], np.arange(n), one, 2 * radius * one, one, 1.0, 0.0
    )
    value = covering_bound(model, decay, bound=bound, confidence=0.9).value
    rest = np.log(2 * (size + 1) * (size + 2) / (2 / 3 * 0.1))
    return value * n * np.log(2) / 2 - rest


@pytest.mark.parametrize(
    "decay", [ExponentialDecay(1.0), PolynomialDecay(4.0), ListedDecay(np.array([0.7, 0.2, 0.01]))]
)
@pytest.mark.parametrize("radius", [2.0**-4, 0.25, 1.0])
def test_the_balls_for_weights_and_bias_are_those_of_the_entropy_numbers(decay, radius):
    found = log_balls(decay, 1.5, radius, 14_427)
    # the same minimum over the share of the bias, with a finer grid of numbers of balls, up to 2^n = exp(1e4)
    log_counts = np.concatenate(
        [np.log(np.arange(1.0, 1000.0)), np.geomspace(np.log(1000.0), 1e4, 20_000)]
    )
    log_radii = mc.capacity.log_feature_entropy_number(decay, log_counts, 1.5)
    best = np.inf
    for share in np.linspace(0.02, 0.98, 49):
        enough = log_counts[log_radii <= np.log((1 - share) * radius)]
        best = min(best, enough.min(initial=np.inf) + np.log(np.ceil(1 / (share * radius))))
    assert best * (1 - 1e-9) <= found <= 1.05 * best + 0.02


@pytest.mark.parametrize(
    ("radius", "expected"), [(8.0, 1), (4.0, 3), (2.0, 6), (1.0, 24), (0.5, 96)]
)
def test_numbers_of_balls_are_whole(radius, expected):
    # one eigenvalue 1: m balls have the radius 6 / m; with intervals of the share for the bias
    shares = np.linspace(0.02, 0.98, 49)
    balls = np.ceil(6 / ((1 - shares) * radius)) * np.ceil(1 / (shares * radius))
    assert balls.min() == expected
    assert np.exp(log_balls(ListedDecay(np.ones(1)), 1.0, radius, 145)) == pytest.approx(expected)


def test_the_functions_of_a_finite_map_need_no_more_balls_than_the_bound():
    # f = w'phi, phi(x) = (sqrt(0.5) u, sqrt(0.2) v), |u|, |v| <= 1: a packing needs a ball for each function
    rng = np.random.default_rng(0)
    decay, radius = ListedDecay(np.array([0.5, 0.2])), 2.0**-4
    w = rng.normal(size=(4000, 2))
    w *= np.sqrt(rng.uniform(size=(4000, 1))) / np.linalg.norm(w, axis=1, keepdims=True)
    scaled = w * np.sqrt([0.5, 0.2])
    kept = scaled[:1]
    for function in scaled[1:]:
        # the maximum norm of a difference over the box is its sum of absolute values
        if np.min(np.sum(np.abs(kept - function), axis=1)) > 2 * radius:
            kept = np.vstack([kept, function])
    assert np.log(len(kept)) <= log_balls(decay, 1.0, radius, 1443)


@pytest.mark.parametrize("confidence", [0.5, 0.99])
def test_the_bound_is_that_of_the_theorem(model, confidence):
    decay = ExponentialDecay(1.5)
    ratio = model.margins.min() / np.hypot(model.norm, model.bias)
    j = int(np.floor(np.log2(ratio)))
    delta = (2 / 3) * (1 - confidence) / ((abs(j) + 1) * (abs(j) + 2))
    balls = log_balls(decay, 2.0, 2.0**j / 2, len(model)) / np.log(2)
    expected = 2 / len(model) * (balls + np.log2(2 / delta))
    assert covering_bound(model, decay, confidence=confidence, bound=2.0).value == pytest.approx(
        expected, rel=1e-12
    )


def test_the_union_over_margins_spends_delta_once():
    j = np.arange(-100_000, 100_001)
    assert np.sum((2 / 3) / ((np.abs(j) + 1) * (np.abs(j) + 2))) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_error_of_new_points_is_below_the_bound(seed):
    X, y, fitted = _separated(seed, 400, gap=0.05)
    fitted = mc.SVC(C=1e3, kernel=mc.Gaussian(0.1)).fit(X, y)
    found = covering_bound(mc.capacity.model(fitted, X, y), ExponentialDecay(1.5))
    new, labels, _ = _separated(seed + 100, 4000, gap=0.05)
    assert np.mean(fitted.predict(new) != labels) <= found.value < np.inf


def test_more_points_slower_decay_and_larger_eigenfunctions_change_it_as_they_should(model):
    value = covering_bound(model, ExponentialDecay(1.5)).value
    assert covering_bound(model, PolynomialDecay(3.0)).value > value
    assert covering_bound(model, ExponentialDecay(1.5), bound=5.0).value > value
    assert covering_bound(model, ExponentialDecay(1.5), confidence=0.999).value > value
    assert not covering_bound(model, ExponentialDecay(1.5)).vacuous


def test_scaling_weights_and_bias_changes_nothing(model):
    twice = replace(model, outputs=2 * model.outputs, norm=2 * model.norm, bias=2 * model.bias)
    decay = ExponentialDecay(1.5)
    assert covering_bound(twice, decay).value == covering_bound(model, decay).value


def test_a_training_error_leaves_no_bound(model):
    outputs = model.outputs.copy()
    outputs[:20] *= -1
    found = covering_bound(replace(model, outputs=outputs), ExponentialDecay(1.5))
    assert found.value == np.inf
    assert found.vacuous
    assert "1.0% of the training points" in found.statement


def test_more_than_2_to_the_n_balls_are_no_bound(model):
    assert covering_bound(model, PolynomialDecay(1.01)).value == np.inf


def test_a_decay_that_is_too_slow_to_sum_is_named(model):
    with pytest.raises(
        ValueError, match=r"decay = ExponentialDecay\(rate=1e-12, .* is too slow for a bound"
    ):
        covering_bound(model, ExponentialDecay(1e-12))


def test_a_number_is_no_law_of_decay(model):
    with pytest.raises(TypeError, match="decay must be an ExponentialDecay"):
        covering_bound(model, 2.0)
    assert feature_entropy_number(ExponentialDecay(1.5), 10) > 0


@pytest.mark.parametrize("margin", [5e-324, 1e-310, 0.0, -1.0])
def test_there_is_no_bound_for_margins_that_numbers_cannot_state(margin):
    one = np.ones(14_427)
    model = mc.capacity.Model(
        mc.Linear(), one[:, None], np.arange(14_427), one, margin * one, one, 5.0, 0.0
    )
    assert covering_bound(model, ExponentialDecay(1.5)).value == np.inf
