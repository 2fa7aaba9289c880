import functools
import math

import numpy as np
import pytest

import mercer as mc
from mercer import capacity
from mercer.capacity import Bound, Model

FAILURE = 0.1
NOISE = 0.1


def test_a_bound_without_confidence_is_a_heuristic():
    assert Bound("a", 0.5, "", "error").kind == "heuristic"
    assert Bound("a", 0.5, "", "error", 0.95).kind == "bound"


@pytest.mark.parametrize(
    ("value", "vacuous"), [(0.99, False), (1.0, True), (math.inf, True), (math.nan, True)]
)
def test_a_value_that_is_not_below_the_trivial_one_is_vacuous(value, vacuous):
    assert Bound("a", value, "", "error").vacuous == vacuous


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.1, math.nan])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="confidence = "):
        capacity.vc_bound(0.1, 3, 100, confidence)


def test_other_quantities_have_other_trivial_values():
    assert not Bound("a", 3.0, "", "residual", 0.95, trivial=4.0).vacuous


# --- bounds hold at their confidence, on random samples whose labels are wrong with probability NOISE ----------------


def sample(rng, n):
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] > 0, 1.0, -1.0) * np.where(rng.random(n) < NOISE, -1, 1)


def line(rng, n):
    """The line of least squares through a sample, as a Model, and its true error."""
    X, y = sample(rng, n)
    wide = np.column_stack([X, np.ones(n)])
    *w, b = np.linalg.solve(wide.T @ wide, wide.T @ y)
    return Model(
        mc.Linear(),
        X,
        np.arange(n),
        y,
        X @ w + b,
        np.sum(X**2, axis=1),
        float(np.hypot(*w)),
        float(b),
    ), true_error(lambda Z: Z @ w + b)


def fitted(rng, n):
    X, y = sample(rng, n)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    model = mc.SVC(C=100.0, kernel=mc.Linear()).fit(X, y)
    return capacity.model(model, X, y), true_error(model.decision_function, 0.0)


@functools.cache
def fresh():
    return np.random.default_rng(12345).normal(size=(20_000, 2))


def true_error(score, noise=NOISE):
    Z = fresh()
    return noise + (1 - 2 * noise) * float(np.mean((score(Z) > 0) != (Z[:, 0] > 0)))


BOUNDS = {
    "VC": (
        line,
        2000,
        lambda m: capacity.vc_bound(np.mean(m.margins <= 0), 3, len(m), 1 - FAILURE),
    ),
    "Rademacher": (line, 2000, lambda m: capacity.rademacher(m, confidence=1 - FAILURE)),
    "PAC-Bayes": (line, 2000, lambda m: capacity.pac_bayes(m, confidence=1 - FAILURE)),
    "compression": (fitted, 200, lambda m: capacity.sample_compression(m, confidence=1 - FAILURE)),
}


def failures(name, trials, seed):
    learn, n, bound = BOUNDS[name]
    rng, failed, optimistic, informative = np.random.default_rng(seed), 0, 0, 0
    for _ in range(trials):
        model, error = learn(rng, n)
        found = bound(model)
        assert found.kind == "bound"
        failed += error > found.value
        informative += not found.vacuous
        optimistic += error > np.mean(model.margins <= 0)
    return failed, optimistic, informative


@pytest.mark.parametrize(
    "trials",
    [pytest.param(150, id="some"), pytest.param(1000, id="thousand", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_holds_at_its_confidence(name, trials, global_random_seed):
    failed, optimistic, informative = failures(name, trials, global_random_seed)
    assert failed <= trials * FAILURE + 3 * np.sqrt(trials * FAILURE * (1 - FAILURE))
    # the trials would tell: the training error by itself fails far more often, and the bound is rarely vacuous
    assert optimistic > trials * 2 * FAILURE
    assert informative > 0.9 * trials


@pytest.mark.slow
def test_the_residual_of_kernel_pca_is_bounded_in_a_thousand_trials():
    rng, kernel, failed = np.random.default_rng(0), mc.Gaussian(0.05), 0
    Z = rng.normal(size=(500, 1))
    for _ in range(1000):
        X = rng.normal(size=(300, 1))
        found = capacity.kpca_residual(kernel, X, 2, confidence=1 - FAILURE)
        assert not found.vacuous
        U, _ = mc.svd(mc.features(kernel, X), 2, centre=False)
        failed += float(np.mean(1 - np.sum(U(Z) ** 2, axis=1))) > found.value
    assert failed <= 1000 * FAILURE + 3 * np.sqrt(1000 * FAILURE)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_leave_one_out_error_is_bounded_in_a_thousand_trials():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        X, y = sample(rng, 24)
        if len(np.unique(y)) == 1:
            continue
        model = mc.SVC(C=rng.choice([0.3, 3.0, 300.0]), kernel=mc.Gaussian(0.5)).fit(X, y)
        own, truth = capacity.model(model, X, y), capacity.leave_one_out(model, X, y)
        assert truth <= capacity.xi_alpha(own).value + 1e-12
        assert truth <= capacity.support_fraction(own).value + 1e-12
