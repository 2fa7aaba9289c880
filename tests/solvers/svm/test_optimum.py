"""Every machine has the optimum of the oracle, whatever the kernel and the kind of points."""

import functools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC
from tests.solvers.svm import oracle
from tests.solvers.svm.duals import (
    GAUSSIAN,
    assert_feasible,
    assert_optimal,
    classifier,
    noisy_classes,
    noisy_curve,
    regression,
    solved,
    sum_of_one,
    undivided,
)

import mercer as mc
from mercer.solvers.svm.engine import place_at_bounds

N = 36
ONES = np.ones(N)


@functools.cache
def sample(seed):
    """Return points, three of them equal, labels, labels without noise, targets and weights."""
    X, sign = noisy_classes(seed, N)
    rng = np.random.default_rng(seed)
    # coefficients of equal points are not unique
    X[5], X[6] = X[4], X[4]
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(N)
    return SimpleNamespace(
        X=X, sign=sign, apart=np.where(X[:, 0] > 0, 1.0, -1.0), y=y, w=rng.uniform(0.5, 2.0, N)
    )


MACHINES = {
    "classifier": lambda s: classifier(s.sign, 2.0 * s.w),
    "large C": lambda s: classifier(s.sign, 1e3),
    "small C": lambda s: classifier(s.sign, 1e-3),
    "one class": lambda s: sum_of_one(0 * s.w, s.w / (0.3 * N)),
    "one class, its sum": lambda s: sum_of_one(0 * s.w, s.w / (0.3 * N), sums_only=True),
    "ball": lambda _: sum_of_one(0.5 * ONES, 0.1),
    "ball, its sum": lambda _: sum_of_one(0.5 * ONES, 0.1, sums_only=True),
    "ball without errors": lambda _: sum_of_one(0.5 * ONES, 2.0),
    "regression": lambda s: regression(s.y, 2.0 * s.w),
    "regression without a tube": lambda s: regression(s.y, 1.0, 0.0),
    "squared loss": lambda s: regression(s.y, np.inf, 0.05, ridge=1 / s.w),
    "huber": lambda s: regression(s.y, 0.5 * s.w, 0.0, ridge=ONES),
    "squared hinge": lambda s: classifier(s.sign, np.inf, ridge=0.01 / s.w),
    "hard margin": lambda s: classifier(s.apart, np.inf),
    "hard tube": lambda s: regression(np.sin(s.X[:, 0]), np.inf, 0.1),
    "nu classifier": lambda s: classifier(s.sign, s.w, total=0.4 * s.w.sum()),
    "nu regression": lambda s: regression(s.y, 3.0 * s.w, 0.0, total=0.9 * s.w.sum()),
    "nu regression without a tube": lambda s: regression(s.y, 3.0, 0.0, total=2.9 * N),
}
KERNEL = mc.Gaussian(2.0)


@functools.cache
def expected(name, seed):
    dual = MACHINES[name](sample(seed))
    return dual, oracle.optimum(dual, KERNEL(sample(seed).X))


def of_texts(A, B):
    rows = [np.array([[float(x) for x in text.split()] for text in each]) for each in (A, B)]
    return KERNEL(*rows)


def texts(X):
    return [" ".join(map(repr, row)) for row in X.tolist()]


POINTS = {
    "rows": lambda X: (KERNEL, X),
    "sparse rows": lambda X: (KERNEL, sp.csr_array(X)),
    "a sum of kernels": lambda X: (0.25 * KERNEL + 0.75 * KERNEL, X),
    "texts": lambda X: (mc.FunctionKernel(of_texts), texts(X)),
    "kernel values": lambda X: (mc.Precomputed(KERNEL(X)), np.arange(N)),
}


# infinite bounds of one side are replaced by bounds of both


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("name", MACHINES)
def test_the_optimum_is_that_of_the_oracle(name, points, global_random_seed):
    dual, best = expected(name, global_random_seed)
    found = solved(*POINTS[points](sample(global_random_seed).X), dual, tol=1e-9)
    unit, coef = undivided(dual, found)
    assert_feasible(dual, coef)
    np.testing.assert_allclose(unit * found.gradient, best.gradient.astype(float), atol=1e-7)
    sizes = np.abs(coef).sum()
    value = (
        0.5 * coef @ (dual.target * np.isnan(best.margin) + unit * found.gradient)
        - dual.epsilon * sizes
    )
    if np.isnan(best.margin):
        assert value == pytest.approx(best.value, rel=1e-9, abs=1e-12)
    else:
        assert unit == pytest.approx(best.margin, rel=1e-6)
        assert sizes == pytest.approx(dual.total, rel=1e-9)
        assert coef @ (unit * dual.target - unit * found.gradient) == pytest.approx(
            -2 * best.value, rel=1e-6
        )
    assert best.low - 1e-7 <= unit * found.bias <= best.high + 1e-7
    assert found.epsilon == pytest.approx(best.epsilon, abs=1e-7)
    if dual.total is not None and found.epsilon > 0:
        assert sizes == pytest.approx(dual.total, rel=1e-9)
    assert found.violation <= 1e-9
    assert found.certificate.kkt <= 1e-9
    assert abs(found.certificate.gap) <= 1e-7 * max(1.0, abs(found.certificate.primal))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [90, 300])
@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(0.4),
        mc.Matern(0.7, 2.5),
        mc.Matern(2.0, 0.5),
        mc.Polynomial(2, 0.5, 1.0),
        mc.Laplacian(0.3),
    ],
    ids=str,
)
def test_solutions_meet_the_conditions_of_optimality_to_the_last_digits(
    kernel, n, dtype, global_random_seed
):
    """Refinement ends far below the tolerance, from kernel values in float64."""
    X, sign = noisy_classes(global_random_seed, n)
    X = X.astype(dtype)
    dual = classifier(sign, np.linspace(1.0, 3.0, n))
    found = solved(kernel, X, dual, tol=1e-3)
    assert_optimal(dual, found, kernel(X.astype(float)), 1e-8, rounding=1e-8)


@pytest.mark.parametrize(
    "kernel", [mc.Matern(2.0, 0.5), 0.5 * mc.Matern(2.0, 0.5) + mc.Linear()], ids=str
)
def test_solutions_with_too_many_free_variables_to_refine_are_within_the_tolerance(
    kernel, global_random_seed
):
    X, sign = noisy_classes(global_random_seed, 700)
    dual = classifier(sign, np.linspace(1.0, 3.0, 700))
    assert_optimal(dual, solved(kernel, X, dual, tol=1e-3), kernel(X), 1e-3)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_regressions_meet_the_conditions_of_optimality_to_the_last_digits(
    epsilon, global_random_seed
):
    X, y = noisy_curve(global_random_seed, 400)
    dual = regression(y, 2.0, epsilon)
    found = solved(GAUSSIAN, X, dual, tol=1e-3)
    assert_optimal(dual, found, GAUSSIAN(X), 1e-8)
    # what is within the tube is at 0 exactly
    error = y - GAUSSIAN(X) @ found.coef - found.bias
    assert (found.coef[np.abs(error) < epsilon - 1e-6] == 0).all()
    assert (np.abs(found.coef[np.abs(error) > epsilon + 1e-6]) == 2.0).all()


def test_the_objective_is_that_of_scikit_learn(global_random_seed):
    X, sign = noisy_classes(global_random_seed, 300)
    found = solved(mc.Gaussian(0.4), X, classifier(sign, 5.0), tol=1e-6)
    peer = SVC(C=5.0, gamma=0.4, tol=1e-8).fit(X, sign)
    b = peer.dual_coef_[0]
    value = b @ sign[peer.support_] - 0.5 * b @ mc.Gaussian(0.4)(X[peer.support_]) @ b
    assert found.certificate.dual == pytest.approx(value, rel=1e-6)


def test_a_quadratic_loss_without_a_tube_is_a_linear_system(global_random_seed):
    X, y = noisy_curve(global_random_seed, N)
    ridge = np.linspace(0.2, 0.9, N)
    dual = regression(y, np.inf, 0.0, ridge=ridge)
    system = np.ones((N + 1, N + 1))
    system[:N, :N], system[N, N] = GAUSSIAN(X) + np.diag(ridge), 0
    solution = np.linalg.solve(system, np.append(y, 0))
    # bounds that no coefficient meets change nothing
    for own in (dual, replace(dual, lower=np.full(N, -99.0), upper=np.full(N, 99.0))):
        found = solved(GAUSSIAN, X, own, tol=1e-10)
        np.testing.assert_allclose(np.append(found.coef, found.bias), solution, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_targets_of_any_scale_have_the_same_optimum(scale, global_random_seed):
    X, y = noisy_curve(global_random_seed, 80)
    one = solved(GAUSSIAN, X, regression(y, 1.0, 0.1), tol=1e-9)
    other = solved(GAUSSIAN, X, regression(scale * y, scale, 0.1 * scale), tol=1e-9 * scale)
    np.testing.assert_allclose(other.gradient / scale, one.gradient, atol=1e-7)
    assert other.bias / scale == pytest.approx(one.bias, abs=1e-7)


def test_without_free_variables_the_bias_is_the_middle_of_its_interval():
    X = np.array([[-3.0], [-2.0], [2.0], [4.0]])
    # all coefficients are 1/100: f = 0.01 (2 + 4 + 2 + 3) x
    found = solved(mc.Linear(), X, classifier([-1.0, -1, 1, 1], 0.01), tol=1e-10)
    np.testing.assert_allclose(found.coef, [-0.01, -0.01, 0.01, 0.01])
    # biases from -1 + 0.11 * 3 and 1 - 0.11 * 4 upwards and downwards
    raw = np.array([-1.0, -1, 1, 1]) - 0.11 * X[:, 0]
    assert found.bias == pytest.approx(0.5 * (raw[2:].min() + raw[:2].max()))


@pytest.mark.parametrize("rounding", [0.0, 3e-15])
def test_a_coefficient_that_rounding_keeps_from_its_bound_fixes_no_bias(rounding):
    # alone, the two points far from the margin leave the bias open
    X, sign = np.array([[-3.0], [-2.0], [2.0], [4.0]]), np.array([-1.0, -1, 1, 1])
    dual = classifier(sign, 0.01)
    start = dual.lower + dual.upper
    start[[0, 3]] += 0.01 * rounding * np.array([1, -1])
    found = solved(mc.Linear(), X, replace(dual, coef=start), tol=1e-10)
    exact = solved(mc.Linear(), X, dual, tol=1e-10)
    np.testing.assert_array_equal(found.coef, exact.coef)
    assert found.bias == pytest.approx(exact.bias, abs=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_equal_targets_are_a_constant(sign):
    for epsilon in (0.0, 0.1):
        found = solved(
            GAUSSIAN, np.arange(5.0)[:, None], regression(np.full(5, sign), 1.0, epsilon), tol=1e-6
        )
        assert found.bias == pytest.approx(sign, abs=1e-12)
        np.testing.assert_allclose(found.coef, 0, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 1e-310, -1e-310, 1e-200])
def test_kernel_values_that_vanish_have_finite_solutions(value):
    X, y = noisy_curve(0, 30)
    K = np.full((30, 30), value)
    for dual in (
        classifier(np.sign(y)),
        regression(y),
        regression(y, 1.0, 0.0, ridge=np.full(30, 1e-300)),
    ):
        found = solved(mc.Precomputed(K), np.arange(30), dual, tol=1e-3)
        assert np.isfinite(found.coef).all()
        assert np.isfinite([found.bias, found.violation]).all()


@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("C", [10.0, 1e4])
def test_an_indefinite_kernel_ends(n, C, global_random_seed):
    X, sign = noisy_classes(global_random_seed, n)
    found = solved(mc.Sigmoid(2.0, -1.0), X, classifier(sign, C), tol=1e-3, max_iter=20_000)
    assert np.isfinite(found.coef).all()
    assert np.isfinite(found.violation)
    assert found.n_iter <= 20_000


def test_gradients_far_from_the_origin_are_those_of_centred_points(global_random_seed):
    X, sign = noisy_classes(global_random_seed, 300)
    # binary fractions, which a shift leaves exact
    X = np.round(X * 2**12) / 2**12
    near, far = (
        solved(GAUSSIAN, points, classifier(sign, 3.0), tol=1e-9) for points in (X, X + 2.0**20)
    )
    np.testing.assert_allclose(far.gradient, near.gradient, atol=1e-8)
    assert_optimal(classifier(sign, 3.0), far, GAUSSIAN(X), 1e-8, rounding=1e-8)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("distinct", [True, False])
def test_a_start_of_a_sum_is_at_the_bounds_of_the_largest_slopes(
    sign, distinct, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    f = rng.standard_normal(50) if distinct else rng.integers(0, 3, 50).astype(float)
    bound = rng.uniform(0.1, 1.0, 50)
    bound[::7] = 0.0
    lower, upper = np.where(sign > 0, 0.0, -bound), np.where(sign > 0, bound, 0.0)
    for share in (0.01, 0.3, 1.0):
        total, coef = share * bound.sum(), np.full(50, np.nan)
        place_at_bounds(f, coef, lower, upper, sign * total)
        order = np.argsort(-sign * f, kind="stable")
        filled = np.clip(total - (np.cumsum(bound[order]) - bound[order]), 0, bound[order])
        np.testing.assert_allclose(coef[order], sign * filled, atol=1e-12)
        assert coef.sum() == pytest.approx(sign * total, rel=1e-12)
