"""Prescribed sums of sizes: nu-classification by reduced convex hulls, nu-regression, sums that jump with epsilon."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.solvers.svm import oracle
from tests.solvers.svm.duals import (
    GAUSSIAN,
    assert_feasible,
    classifier,
    noisy_classes,
    noisy_curve,
    regression,
    solved,
    undivided,
)

import mercer as mc
from mercer.solvers.svm import certificate

SIGN = np.array([1.0, 1.0, -1.0, -1.0])
LINE = np.array([[1.0], [3.0], [-1.0], [-5.0]])


def assert_optimal_hulls(dual, found, K, tol):
    """Check the closest points of two reduced hulls: sums, bounds, and that each class has one bias."""
    unit, coef = undivided(dual, found)
    sign, half = dual.target, 0.5 * dual.total.item()
    np.testing.assert_allclose([coef[sign > 0].sum(), -coef[sign < 0].sum()], half, rtol=1e-12)
    own = replace(dual, target=unit * sign)
    gradient = own.target - oracle.matrix_of(dual, K) @ coef.astype(oracle.LONG)
    np.testing.assert_allclose(
        unit * found.gradient, gradient.astype(float), atol=1e-9 * max(1.0, np.abs(coef).sum())
    )
    for label in (1.0, -1.0):
        part = np.flatnonzero(sign == label)
        low, high = oracle.interval(own.take(part), coef[part], gradient[part])
        assert low - high <= tol * unit
    # one bias for both classes
    assert oracle.violation(own, coef, K) <= tol * unit
    low, high = oracle.interval(own, coef, gradient)
    assert min(low, high) - tol * unit <= unit * found.bias <= max(low, high) + tol * unit


# --- two classes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.95])
def test_the_classifier_is_that_of_the_oracle(share, global_random_seed):
    X, sign = noisy_classes(global_random_seed, 40)
    bound = np.random.default_rng(global_random_seed).uniform(0.1, 1.1, 40)
    total = 2 * share * min(bound[sign > 0].sum(), bound[sign < 0].sum())
    dual = classifier(sign, bound, total=total)
    best, found = oracle.optimum(dual, GAUSSIAN(X)), solved(GAUSSIAN, X, dual, 1e-9)
    assert_optimal_hulls(dual, found, GAUSSIAN(X), 1e-9)
    unit, coef = undivided(dual, found)
    assert unit == pytest.approx(best.margin, rel=1e-6)
    assert -0.5 * coef @ GAUSSIAN(X) @ coef == pytest.approx(best.value, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "memory"), [(300, "1GB"), (700, "1GB"), (500, 700_000)], ids=["few", "many", "rows"]
)
@pytest.mark.parametrize("accuracy", [0.0, np.inf], ids=["float64", "float32"])
def test_sums_are_kept_and_both_classes_are_optimal(n, memory, accuracy, global_random_seed):
    X, y = noisy_curve(global_random_seed, n)
    # classes of different sizes
    dual = classifier(np.where(y > 0.6, 1.0, -1.0), np.linspace(0.5, 1.0, n), total=0.2 * n)
    found = solved(GAUSSIAN, X, dual, 1e-5, accuracy, memory=memory)
    assert found.violation <= 1e-5
    assert_optimal_hulls(
        dual, replace(found, gradient=exact_gradient(dual, found, X)), GAUSSIAN(X), 1.01e-5
    )


def exact_gradient(dual, found, X):
    return dual.target - GAUSSIAN(X) @ found.coef


def test_sweeps_over_parts_find_the_same_optimum(global_random_seed):
    X, sign = noisy_classes(global_random_seed, 600)
    dual = classifier(sign, 1.0, total=40.0)
    whole, parts = (
        solved(GAUSSIAN, X, dual, 1e-4, np.inf, memory=memory) for memory in ("1GB", 500_000)
    )
    assert parts.margin == pytest.approx(whole.margin, rel=1e-4)
    np.testing.assert_allclose(
        parts.gradient, whole.gradient, atol=1e-3 * np.abs(whole.gradient).max()
    )


@pytest.mark.parametrize("seed", [2, 42])
def test_a_kernel_in_other_units_takes_about_as_many_steps(seed):
    # memory for some rows: the start is that of a sample, whose tolerance was in units twice
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2500, 2))
    sign = np.where(X[:, 0] + 0.5 * rng.normal(size=2500) > 0, 1.0, -1.0)
    one, other = (
        mc.NuSVC(nu=0.5, kernel=factor * mc.Gaussian(0.5), memory=2_000_000).fit(X, sign)
        for factor in (1.0, 2.0**20)
    )
    assert other.n_iter_.max() <= 1.5 * one.n_iter_.max()
    np.testing.assert_array_equal(other.predict(X), one.predict(X))


def test_nu_classification_is_in_units_of_its_margin():
    # the nearest points are 1 and -1: w = 2, the margin 1 / w is 1, half of |w|^2 = 2 s margin with s = 1
    found = solved(mc.Linear(), LINE, classifier(SIGN, 2.0, total=2.0))
    np.testing.assert_allclose(found.margin, 2, rtol=1e-9)
    np.testing.assert_allclose(found.coef, [0.5, 0, -0.5, 0], atol=1e-9)
    np.testing.assert_allclose(found.bias, 0, atol=1e-9)
    np.testing.assert_allclose(found.gradient, SIGN - LINE[:, 0], atol=1e-9)


def test_classes_at_their_bounds_have_the_boundary_in_the_middle():
    # w = 1 + 3 + 1 + 5 = 10: the outermost points 3 and -5 are on the margin, in the distance of 80 of each other
    for factors in ((1.0, 1.0), (4.0, 1.0), (1.0, 4.0)):
        found = solved(mc.Linear(), LINE, classifier(SIGN, 1.0, total=4.0, factors=factors))
        np.testing.assert_allclose(found.margin, 40, rtol=1e-9)
        np.testing.assert_allclose(found.coef, SIGN / 40)
        # f(3) = 1 and f(-5) = -1
        np.testing.assert_allclose(0.25 * LINE[:, 0] + found.bias, [0.5, 1, 0, -1], atol=1e-9)


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_a_class_at_its_bounds_alone_leaves_the_boundary_to_the_factors(label):
    # the mean 2 of one class, and -1 of the other: w = 3, and K b is -9 to 9
    for factors, share in (((1.0, 1.0), 0.5), ((1.0, 3.0), 0.75), ((3.0, 1.0), 0.5)):
        own = factors if label > 0 else factors[::-1]
        dual = classifier(label * SIGN, np.array([0.5, 0.5, 2.0, 2.0]), total=2.0, factors=own)
        found = solved(mc.Linear(), LINE, dual)
        # edges of K b: 9 of the class at its bounds, -3 of the other
        assert found.margin == pytest.approx(share * 12, rel=1e-9)
        np.testing.assert_allclose(
            found.margin * found.coef, label * np.array([0.5, 0.5, -1, 0]), atol=1e-9
        )
        middle = -3.0 if share == 0.5 else 3.0 - found.margin
        assert found.margin * found.bias == pytest.approx(label * middle, rel=1e-9)


def test_a_coefficient_that_rounding_keeps_from_its_bound_fixes_no_bias():
    # the nearest two points of each class at their bounds: K b = -8 x, open from 0 to 8 and from 48 to 56
    X, sign = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]]), np.repeat([1.0, -1.0], 3)
    found = solved(mc.Linear(), X, classifier(sign, 1.0, total=4.0), 1e-9)
    np.testing.assert_allclose(found.margin * found.coef, [0.0, 1, 1, -1, -1, 0], atol=1e-12)
    np.testing.assert_allclose([*(found.margin * found.bias), *found.margin], [28, 24], rtol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_a_small_margin_is_prescribed_if_there_is_none(weight):
    # a hundredth of that of the means, which are 1 apart, or 2: bounds are weights
    X, bound = np.array([[-1.0], [3.0], [0.0]]), np.array([1.0, weight, 2.0])
    found = solved(mc.Linear(), X, classifier([1.0, 1.0, -1.0], bound, total=2.0), 1e-6)
    assert found.margin == pytest.approx(0.01 * (1.0 if weight == 1 else 4.0), rel=1e-9)
    # means that are equal are a thousandth of the norm apart
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    found = solved(mc.Linear(), X, classifier(SIGN, 1.0, total=2.0), 1e-6, max_iter=1000)
    assert found.margin == pytest.approx(1e-8)


# --- regression -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_regression_is_that_of_the_oracle(share, global_random_seed):
    X, y = noisy_curve(global_random_seed, 30)
    dual = regression(y, 1.0, 0.0, total=share * 30)
    best, found = oracle.optimum(dual, GAUSSIAN(X)), solved(GAUSSIAN, X, dual, 1e-9)
    assert found.epsilon == pytest.approx(best.epsilon, abs=1e-7)
    assert y @ found.coef - 0.5 * found.coef @ GAUSSIAN(X) @ found.coef == pytest.approx(
        best.value, rel=1e-9
    )
    assert np.abs(found.coef).sum() == pytest.approx(float(np.abs(best.coef).sum()), rel=1e-7)
    assert best.low - 1e-7 <= found.bias <= best.high + 1e-7


@pytest.mark.parametrize(
    ("n", "memory", "accuracy"),
    [(300, "1GB", 0.0), (300, "1GB", np.inf), (500, 400_000, 0.0), (4200, "1GB", np.inf)],
    ids=["float64", "float32", "some rows", "search"],
)
def test_the_solution_is_that_of_its_epsilon_and_meets_the_sum(
    n, memory, accuracy, global_random_seed
):
    X, y = noisy_curve(global_random_seed, n)
    dual = regression(y, 1.0, 0.0, total=0.4 * n)
    found = solved(GAUSSIAN, X, dual, 1e-3, accuracy, memory=memory)
    assert found.violation <= 1e-3
    assert_feasible(dual, found.coef)
    assert np.abs(found.coef).sum() == pytest.approx(0.4 * n, rel=1e-9)
    error = y - GAUSSIAN(X) @ found.coef - found.bias
    free = (np.abs(found.coef) > 0) & (np.abs(found.coef) < 1)
    np.testing.assert_allclose(error[free], found.epsilon * np.sign(found.coef[free]), atol=1e-7)
    assert (np.abs(error[found.coef == 0]) <= found.epsilon + 1e-7).all()
    assert (np.abs(error[np.abs(found.coef) == 1]) >= found.epsilon - 1e-7).all()


def test_more_than_all_errors_leave_no_tube(global_random_seed):
    X, y = noisy_curve(global_random_seed, 60)
    found = solved(GAUSSIAN, X, regression(y, 1.0, 0.0, total=60.0), 1e-6)
    assert found.epsilon == 0
    assert np.abs(found.coef).sum() < 60


def test_a_solution_of_many_tubes_is_no_reason_to_stop():
    # five points: three are at their bounds whatever the width is up to 1.27, and the sum is too large for the share
    y, X = np.array([2.9, -2.0, 2.9, 1.6, -5.0]), np.random.default_rng(0).standard_normal((5, 5))
    found = solved(mc.Gaussian(0.2), X, regression(y, 1.0, 0.0, total=2.5), 1e-6)
    assert np.abs(found.coef).sum() == pytest.approx(2.5, rel=1e-9)


@pytest.mark.parametrize("memory", ["1GB", 140_000], ids=["all rows", "some rows"])
def test_a_sum_that_jumps_with_epsilon_is_met(memory):
    # a line through points on three levels: widths between two levels have one sum
    X, y = np.repeat(np.linspace(-1, 1, 50), 4)[:, None], np.tile([-2.0, -1.0, 1.0, 2.0], 50)
    found = solved(mc.Linear(), X, regression(y, 1.0, 0.0, total=150.0), 1e-6, memory=memory)
    assert found.epsilon == pytest.approx(1, abs=1e-5)
    assert np.abs(found.coef).sum() == pytest.approx(150, rel=1e-9)
    assert found.violation <= 1e-6


@pytest.mark.parametrize("n", [8, 40, 150])
def test_kernel_values_of_small_rank_have_the_sum_and_no_gap(n, global_random_seed):
    # intervals of epsilon share a solution
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((n, 2))
    y = np.round(X[:, 0] + 0.5 * rng.standard_normal(n))
    dual = regression(y, 10.0, 0.0, total=3.0 * n)
    found = solved(mc.Linear(), X, dual, 1e-5)
    assert np.abs(found.coef).sum() == pytest.approx(3.0 * n, rel=1e-9)
    assert abs(found.coef.sum()) <= 1e-9 * 3 * n
    assert found.violation <= 1e-5
    given = replace(dual, epsilon=found.epsilon.item())
    checked = certificate(given, found.coef, y - X @ (X.T @ found.coef), found.bias)
    assert 0 <= checked.gap <= 1e-5 * 10 * n


def test_both_sums_are_kept_to_the_last_digits_where_one_alone_is_singular(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((60, 2))
    y = X[:, 0] + rng.standard_normal(60)
    found = solved(mc.Linear(), X, regression(y, 3.0, 0.0, total=90.0), 1e-3)
    error = y - X @ (X.T @ found.coef) - found.bias
    free = (np.abs(found.coef) > 1e-9) & (np.abs(found.coef) < 3 - 1e-9)
    # a plane and a tube have four parameters; an edge may be open
    assert 3 <= free.sum() <= 4
    np.testing.assert_allclose(error[free], found.epsilon * np.sign(found.coef[free]), atol=1e-12)
    np.testing.assert_allclose(
        [np.abs(found.coef).sum(), 1 + found.coef.sum()], [90, 1], rtol=1e-12
    )


@pytest.mark.parametrize("memory", ["1GB", 400_000], ids=["all rows", "some rows"])
def test_steps_stay_within_their_limit(memory, global_random_seed):
    X, y = noisy_curve(global_random_seed, 400)
    for dual in (
        regression(y, 100.0, 0.0, total=16_000.0),
        classifier(np.sign(y), 1.0, total=120.0),
    ):
        found = solved(GAUSSIAN, X, dual, 1e-6, memory=memory, max_iter=50)
        # a classifier without margin is solved for twice
        assert found.n_iter <= (100 if dual.one_sided else 50)
        assert found.violation > 1e-6
        assert np.isfinite(found.coef).all()


def test_the_certificate_holds_where_millions_of_steps_lose_digits_of_the_sum():
    # a linear kernel of 2 000 on rows far from the origin, and bounds up to 1e6: the sum was 6e-5 before
    x = [
        47.60171773985532, 46.9158101925801, 45.04538573492666, 48.15950462502505, 45.81336811351976,
        44.44242032392337, 47.833465145690354, 45.652606520434496, 45.30974295027259, 45.76224920687956,
    ]  # fmt: skip
    y = [
        1.1421478352228052, 0.7910792115515248, -0.5815174394240669, 0.76932743962757, -0.12878182822125145,
        -1.0192398879722604, 0.9431471396247244, -0.3415590267564277, -0.4648066271107223, -0.07000910390922681,
    ]  # fmt: skip
    w = [
        1.0, 0.0075747593396370515, 10.40826608099015, 317.8255240887916, 0.615078658269403,
        996.391548418123, 757.1919685831542, 0.009638159326857458, 0.02337026290105044, 135.82010805178987,
    ]  # fmt: skip
    x, y, w, C, nu = np.array(x), np.array(y), np.array(w), 1431.170247076097, 0.252068142124556
    model = mc.NuSVR(nu=nu, C=C, kernel="linear", tol=0.1).fit(x[:, None], y, sample_weight=w)
    coef = np.zeros(10)
    coef[model.support_] = model.dual_coef_[:, 0]
    f, bounds = np.outer(x, x) @ coef, C * w
    loss = bounds @ np.maximum(np.abs(y - f - model.intercept_) - model.epsilon_, 0)
    primal = 0.5 * coef @ f + nu * model.epsilon_ * bounds.sum() + loss
    dual = y @ coef - 0.5 * coef @ f
    assert abs(coef.sum()) < 1e-12 * np.abs(coef).sum()
    assert primal - dual < 1e-4 * primal
    assert mc.certify(model, x[:, None], y, w).kkt < 1e-3


def test_margins_whose_squares_underflow_are_divided_out_without_a_warning():
    y = np.array([1, 1, -1, -1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        small = mc.NuSVC(0.5, kernel="linear").fit(1e-140 * LINE, y)
    assert not [each for each in caught if each.category is RuntimeWarning]
    near = mc.NuSVC(0.5, kernel="linear").fit(LINE, y)
    np.testing.assert_allclose(small.certificate_.dual, 1e280 * near.certificate_.dual, rtol=1e-12)
    np.testing.assert_allclose(small.certificate_.primal, small.certificate_.dual, rtol=1e-12)
