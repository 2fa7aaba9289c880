"""Kernel values in float32: no violation above the tolerance is hidden, and no gap that bounds make large."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC
from tests.solvers.svm import oracle
from tests.solvers.svm.duals import (
    assert_feasible,
    classifier,
    noisy_classes,
    noisy_curve,
    regression,
    solved,
    sum_of_one,
    undivided,
)

import mercer as mc
from mercer.solvers.svm import rows_of

TOL = 1e-3


def needed(dual):
    """Return the accuracy of kernel values that moves no gradient by more than the tolerance."""
    return TOL / (max(dual.upper.max(), -dual.lower.min()) * np.sqrt(len(dual.coef)))


def with_far_points(X, offset):
    """Return points of which some lie far away, but none of the few that a measurement of rounding takes."""
    n = len(X)
    measured = np.union1d(*(np.linspace(0, n - 1, size).astype(int) for size in (64, 32)))
    X = X.copy()
    X[np.setdiff1d(np.arange(n), measured)[::12]] += offset
    return X


@pytest.mark.parametrize("memory", ["1GB", 2_000_000], ids=["all rows", "some rows"])
def test_a_violation_that_rounding_hides_is_found_and_removed(memory, global_random_seed):
    X, sign = noisy_classes(global_random_seed, 700)
    X, kernel, dual = with_far_points(X, 100.0), mc.Gaussian(2.0), classifier(sign, 30.0)
    assert rows_of(kernel, X, needed(dual)).dtype == np.float32
    found = solved(kernel, X, dual, TOL, needed(dual), memory=memory)
    assert_feasible(dual, found.coef)
    assert found.violation <= TOL
    assert oracle.violation(dual, found.coef, oracle.gaussian(X, 2.0)) <= 1.01 * TOL


@pytest.mark.parametrize(
    ("seed", "n", "gamma"), [(42, 700, 0.5), (1, 1500, 2.0)], ids=["refined", "steps"]
)
def test_no_violation_is_hidden_where_measured_points_round_less(seed, n, gamma):
    X, sign = noisy_classes(seed, n)
    X, dual = with_far_points(X, 200.0), classifier(sign, 30.0)
    found = solved(mc.Gaussian(gamma), X, dual, TOL, needed(dual))
    assert oracle.violation(dual, found.coef, oracle.gaussian(X, gamma)) <= max(
        1.01 * TOL, found.violation
    )


@pytest.mark.parametrize(("n", "memory"), [(80, "1GB"), (600, "1GB"), (600, 500_000)])
@pytest.mark.parametrize("d", [3, 12])
def test_clusters_far_apart_are_solved_as_if_they_were_near(n, memory, d, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((n, d)) + 1e6 * rng.standard_normal((4, d))[rng.integers(4, size=n)]
    y = rng.integers(2, size=n)
    model = mc.SVC(100.0, kernel=mc.Gaussian(0.3), tol=1e-6, memory=memory).fit(X, y)
    coef = np.zeros(n)
    coef[model.support_] = model.dual_coef_.ravel()
    dual = classifier(2.0 * y - 1, 100.0)
    assert oracle.violation(dual, coef, oracle.gaussian(X, 0.3)) <= 1e-6


@pytest.mark.parametrize(
    ("wrap", "memory"),
    [(np.asarray, "1GB"), (sp.csr_array, "1GB"), (np.asarray, 500_000)],
    ids=["dense", "sparse", "few"],
)
def test_coarse_float32_solutions_meet_the_tolerance_in_float64(memory, wrap, global_random_seed):
    # too many free variables to refine
    X, sign = noisy_classes(global_random_seed, 500, d=6)
    X[np.abs(X) < 0.3] = 0
    kernel = mc.Gaussian(1.0)
    curve = regression(np.sin(3 * X[:, 0]) + 0.3 * sign, 5.0, 0.05)
    for dual in (classifier(sign, 20.0), curve):
        found = solved(kernel, wrap(X), dual, TOL, np.inf, memory=memory)
        assert np.count_nonzero((found.coef > dual.lower) & (found.coef < dual.upper)) > 300
        assert_feasible(dual, found.coef)
        assert oracle.violation(dual, found.coef, oracle.gaussian(X, 1.0)) <= 1.01 * TOL
        exact = dual.target - kernel(X) @ found.coef
        np.testing.assert_allclose(found.gradient, exact, atol=1e-4)
        assert found.certificate.gap <= 0.01 * found.certificate.primal


def test_steps_of_corrections_are_within_the_limit(global_random_seed):
    X, sign = noisy_classes(global_random_seed, 700)
    X, dual = with_far_points(X, 100.0), classifier(sign, 30.0)
    steps = solved(mc.Gaussian(2.0), X, dual, TOL, needed(dual)).n_iter.item()
    for limit in (steps - 1, steps // 2, 7):
        assert solved(mc.Gaussian(2.0), X, dual, TOL, needed(dual), max_iter=limit).n_iter <= limit


@pytest.mark.parametrize("seed", [3, 4])
def test_margins_smaller_than_the_rounding_of_gradients_meet_the_tolerance_in_float64(seed):
    X = np.random.default_rng(seed).standard_normal((400, 7))
    y = np.where(np.arange(400) % 2, 1, -1)
    model = mc.NuSVC(kernel=mc.Gaussian(1e-4), nu=0.85, tol=TOL).fit(X, y)
    assert mc.certify(model, X, y).kkt <= TOL


@pytest.mark.parametrize("kind", ["one class", "ball", "nu classifier", "nu regression"])
def test_models_of_a_sum_meet_the_tolerance_in_float64(kind, global_random_seed):
    n = 500
    X, y = noisy_curve(global_random_seed, n, d=3)
    dual = {
        "one class": lambda: sum_of_one(np.zeros(n), 1 / (0.2 * n)),
        "ball": lambda: sum_of_one(np.full(n, 0.5), 0.01),
        "nu classifier": lambda: classifier(np.sign(y), 1.0, total=0.4 * n),
        "nu regression": lambda: regression(y, 100.0, 0.0, total=20.0 * n),
    }[kind]()
    tol = 1e-5 if kind in ("one class", "ball") else 1e-4
    found = solved(mc.Gaussian(0.5), X.astype(np.float32), dual, tol, np.inf)
    unit, coef = undivided(dual, found)
    own = replace(dual, target=unit * dual.target, epsilon=found.epsilon.item())
    exact = oracle.gaussian(X.astype(np.float32), 0.5)
    assert oracle.violation(own, coef, exact) <= 1.01 * tol * unit
    assert abs(coef.sum() - dual.coef.sum()) <= 1e-12 * np.abs(coef).sum()
    if dual.total is not None:
        assert np.abs(coef).sum() == pytest.approx(dual.total, rel=1e-9)
    few = solved(mc.Gaussian(0.5), X.astype(np.float32), dual, tol, np.inf, max_iter=5)
    assert few.n_iter <= 10
    assert few.violation > tol


@pytest.mark.parametrize("C", [1e2, 2e2])
def test_steps_go_on_where_large_bounds_make_a_small_violation_a_large_gap(C, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    # separable, so that the objective does not grow with C; more variables than are refined
    X = np.concatenate([rng.normal(size=(400, 5)) - 2, rng.normal(size=(400, 5)) + 2])
    y = np.repeat([0, 1], 400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mc.SVC(C, kernel=mc.Gaussian(1.0)).fit(X, y)
    found = mc.certify(model, X, y)
    assert found.gap < 0.01 * found.primal
    peer = SVC(C=C, gamma=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1])
def test_small_problems_of_high_rank_and_large_bounds_take_no_millions_of_steps(epsilon):
    rng = np.random.default_rng(301)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=300)
    model = mc.SVR(C=1e6, kernel=mc.Gaussian(0.1), epsilon=epsilon).fit(X, y)
    assert model.n_iter_ < 500_000
    found = mc.certify(model, X, y)
    assert found.gap <= 1e-6 * found.primal


def test_the_gap_is_a_small_share_though_all_of_many_variables_are_free(global_random_seed):
    # rows are nearly orthogonal: too many free variables to refine, and bounds that none meets
    X = sp.random(2100, 500, 0.05, random_state=global_random_seed).tocsr()
    sign = np.random.default_rng(global_random_seed).choice([-1.0, 1.0], 2100)
    dual = classifier(sign, 100.0)
    found = solved(mc.Gaussian(1.0), X, dual, TOL)
    assert found.violation <= TOL
    assert 0 <= found.certificate.gap <= 0.01 * found.certificate.primal


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classifiers_over_shared_points_meet_the_tolerance_each(
    multi_class, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(900, 3)).astype(np.float32)
    y = np.argmax(X + 0.5 * rng.normal(size=X.shape), axis=1)
    model = mc.SVC(10.0, kernel=mc.Gaussian(2.0), multi_class=multi_class).fit(X, y)
    assert mc.certify(model, X, y).kkt <= 1.05 * TOL


@pytest.mark.parametrize("scale", [1e6, 1e8])
@pytest.mark.parametrize("estimator", [mc.SVC, mc.SVR], ids=lambda each: each.__name__)
def test_close_pairs_of_points_far_from_each_other_are_solved_with_their_kernel_values(
    estimator, scale, global_random_seed
):
    # rounding of squared norms is larger than the squared distance of a pair
    rng = np.random.default_rng(global_random_seed)
    X = scale * rng.standard_normal((30, 2))
    X = np.vstack([X, X + 0.1])
    y = X[:, 0] > 0
    model = estimator(kernel=mc.Gaussian(0.5)).fit(X, y)
    found = mc.certify(model, X, y)
    assert found.kkt <= model.tol
    assert model.certificate_.primal == pytest.approx(found.primal, rel=1e-6)


def test_rows_whose_squared_norms_exceed_float32_are_fitted_in_float64_without_a_warning():
    X = (np.random.default_rng(0).normal(size=(300, 3)) * 1e19).astype(np.float32)
    y = (X[:, 0] > 0) == (X[:, 1] > 0)
    exact = mc.SVC(tol=1e-6).fit(X.astype(np.float64), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mc.SVC(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.certificate_.dual, exact.certificate_.dual, rtol=1e-6)
    np.testing.assert_array_equal(model.support_, exact.support_)
