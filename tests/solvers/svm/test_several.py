"""Several problems over shared points, and points that several variables share: each has its own solution."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC
from tests.solvers.svm.duals import (
    GAUSSIAN,
    assert_optimal,
    classifier,
    noisy_classes,
    options_of,
    regression,
    solved,
)
from tools.trace_calls import trace

import mercer as mc
from mercer.solvers.svm import rows_of, solve_dual

MULTI_CLASS = pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
MACHINES = pytest.mark.parametrize(
    "machine",
    [lambda **given: mc.SVC(3.0, **given), lambda **given: mc.NuSVC(0.3, **given)],
    ids=["C", "nu"],
)


def four_classes(seed, n=240, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)).astype(dtype)
    return X, np.argmax(X + 0.6 * rng.standard_normal((n, 4)), axis=1)


POINTS = {
    "rows": lambda X: (GAUSSIAN, X),
    "sparse rows": lambda X: (GAUSSIAN, sp.csr_array(X)),
    "a sum of kernels": lambda X: (0.25 * GAUSSIAN + 0.75 * GAUSSIAN, X),
    "kernel values": lambda X: ("precomputed", GAUSSIAN(X)),
}


@MACHINES
@MULTI_CLASS
@pytest.mark.parametrize(
    ("points", "memory"), [*((name, "1GB") for name in POINTS), ("rows", 140_000)]
)
def test_each_classifier_is_the_binary_one_of_its_rows(
    points, memory, multi_class, machine, global_random_seed
):
    X, y = four_classes(global_random_seed)
    kernel, given = POINTS[points](X)
    options = {"kernel": kernel, "tol": 1e-8, "decision_function_shape": "ovo", "memory": memory}
    model = machine(multi_class=multi_class, **options).fit(given, y)
    values = model.decision_function(given)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for k, (i, j) in enumerate(pairs if multi_class == "ovo" else [(k, None) for k in range(4)]):
        own = np.flatnonzero((y == i) | (y == j)) if multi_class == "ovo" else np.arange(len(y))
        alone = machine(kernel=GAUSSIAN, tol=1e-8).fit(X[own], y[own] == i)
        np.testing.assert_allclose(values[:, k], alone.decision_function(X), atol=1e-6)
    assert mc.certify(model, given, y).kkt <= 1e-7


@MACHINES
@MULTI_CLASS
@pytest.mark.parametrize("memory", ["1GB", 1_000_000], ids=["all rows", "some rows"])
def test_the_number_of_threads_changes_nothing(memory, multi_class, machine, using_threads):
    X, y = four_classes(0, 1000)
    found = []
    for threads in (1, 3):
        with using_threads(threads):
            model = machine(kernel=GAUSSIAN, multi_class=multi_class, memory=memory)
            found.append(model.fit(X, y))
    one, other = found
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.n_iter_, other.n_iter_)


def test_many_small_classes_have_the_classifiers_of_few():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), np.repeat(np.arange(20), 3)
    X += 2 * rng.standard_normal((20, 3))[y]
    model = mc.SVC(10.0, kernel=GAUSSIAN, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    values, pairs = (
        model.decision_function(X),
        [(i, j) for i in range(20) for j in range(i + 1, 20)],
    )
    assert values.shape == (60, 190)
    for k in (0, 18, 19, 100, 189):
        own = np.isin(y, pairs[k])
        alone = mc.SVC(10.0, kernel=GAUSSIAN, tol=1e-8).fit(X[own], y[own] == pairs[k][0])
        np.testing.assert_allclose(values[:, k], alone.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classifiers_with_a_sum_of_kernels_have_the_objectives_of_scikit_learn(
    dtype, global_random_seed
):
    X, y = four_classes(global_random_seed, 300, dtype)
    kernel = 0.5 * mc.Gaussian(0.3) + mc.Polynomial(2, 0.2) * mc.Gaussian(0.1)
    model = mc.SVC(3.0, kernel=kernel, decision_function_shape="ovo").fit(X, y)
    K = kernel(X.astype(np.float64))
    peer = SVC(C=3.0, kernel="precomputed", tol=1e-8, decision_function_shape="ovo").fit(K, y)
    atol = 1e-2 if dtype == np.float64 else 2e-2
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(K), atol=atol)
    assert mc.certify(model, X, y).kkt <= 1e-3


# --- variables and points ---------------------------------------------------------------------------------------------


def test_a_loose_tolerance_of_several_classes_is_not_checked_class_by_class():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 115)
    X = rng.standard_normal((3, 2))[y] + rng.standard_normal((345, 2))

    def calls(tol):
        return trace(lambda: mc.SVC(kernel=mc.Gaussian(1.0), tol=tol).fit(X, y)).calls

    calls(0.1)
    assert calls(0.1) < 2 * calls(0.001)


def test_rounding_is_seen_in_each_of_classes_of_different_sizes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), [1500, 1500, 80, 80])
    X = rng.standard_normal((4, 3))[y] + rng.standard_normal((len(y), 3))
    # float32 rounds kernel values most in the small classes, which are far from the mean
    X[y >= 2] += 60.0
    X = X.astype(np.float32)
    model = mc.SVC(C=5.0, kernel=mc.Gaussian(2.4), tol=0.005).fit(X, y)
    found = mc.certify(model, X, y)
    assert found.kkt <= model.tol
    assert found.kkt <= 1.01 * model.certificate_.kkt


@pytest.mark.parametrize("n", [60, 320])
@pytest.mark.parametrize("memory", ["1GB", 140_000], ids=["all rows", "some rows"])
def test_variables_are_those_of_their_points_in_any_order(n, memory, global_random_seed):
    X, sign = noisy_classes(global_random_seed, n)
    points = np.random.default_rng(global_random_seed).permutation(n)[: n - n // 5]
    for kernel in (GAUSSIAN, GAUSSIAN + mc.Linear()):
        rows, dual = rows_of(kernel, X, 0.0), classifier(sign[points], 2.0, points)
        found = solve_dual(rows, dual, options_of(1e-7, memory=memory))
        assert_optimal(dual, found, kernel(X), 1e-7, rounding=1e-9)


@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("memory", ["1GB", 140_000], ids=["all rows", "some rows"])
def test_a_bound_of_two_is_a_point_given_twice(n, memory, global_random_seed):
    X, sign = noisy_classes(global_random_seed, n)
    times = np.random.default_rng(global_random_seed).integers(1, 3, n)
    points, rows = np.repeat(np.arange(n), times), rows_of(GAUSSIAN, X, 0.0)
    one = solve_dual(rows, classifier(sign, 2.0 * times), options_of(1e-9, memory=memory))
    two = solve_dual(rows, classifier(sign[points], 2.0, points), options_of(1e-9, memory=memory))
    np.testing.assert_allclose(one.gradient[points], two.gradient, atol=1e-7)
    np.testing.assert_allclose(np.bincount(points, two.coef), one.coef, atol=1e-6)
    assert one.bias == pytest.approx(two.bias, abs=1e-7)


def test_one_point_may_have_variables_of_both_signs(global_random_seed):
    # the parts of a regression above and below 0
    X, y = np.random.default_rng(global_random_seed).standard_normal((2, 50, 2))
    line = regression(y[:, 0], 2.0, 0.1)
    twice = replace(
        classifier(np.repeat([1.0, -1.0], 50), 2.0, np.tile(np.arange(50), 2)),
        target=np.concatenate([line.target - 0.1, line.target + 0.1]),
    )
    one, two = (solved(GAUSSIAN, X, dual, 1e-9) for dual in (line, twice))
    np.testing.assert_allclose(two.coef[:50] + two.coef[50:], one.coef, atol=1e-6)
    assert two.bias == pytest.approx(one.bias, abs=1e-7)


@pytest.mark.parametrize("memory", ["1GB", 400_000], ids=["all rows", "some rows"])
@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(1e-3), mc.Polynomial(2, gamma=1e-3, coef0=1.0)], ids=str
)
def test_rows_of_many_columns_have_the_optimum(kernel, memory, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(300, 600))
    sign = np.where(X[:, 0] + rng.normal(size=300) > 0, 1.0, -1.0)
    # a part of the points: fewer than half, and nearly all
    for m in (100, 290):
        dual = classifier(sign[:m], 5.0)
        found = solve_dual(rows_of(kernel, X, 0.0), dual, options_of(1e-4, memory=memory))
        assert_optimal(dual, found, kernel(X), 1e-4, rounding=1e-7)


def test_twice_a_kernel_halves_the_coefficients_of_halved_bounds(global_random_seed):
    X, sign = noisy_classes(global_random_seed, 280)
    one, two = (
        solved(k * mc.Gaussian(0.4), X, classifier(sign, 5.0 / k), 1e-8) for k in (1.0, 2.0)
    )
    np.testing.assert_allclose(2 * two.coef, one.coef, atol=1e-6)
    assert two.violation < 1e-8
