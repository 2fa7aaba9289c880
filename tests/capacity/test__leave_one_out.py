import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import mercer as mc
from mercer import capacity


def moons(seed, n=60):
    return make_moons(n, noise=0.3, random_state=seed)


def toy(coef, margins, points=(1.0, 3.0, 3.0, 3.0, 3.0), kernel=None, C=1.0):
    """A Model with the given coefficients and margins; for the linear kernel max k_ii - min k_ij = 9 - 1 = 8."""
    points, n = np.asarray(points)[:, None], len(points)
    kernel = mc.Linear() if kernel is None else kernel
    targets = np.where(np.arange(n) % 2, 1.0, -1.0)
    return capacity.Model(
        kernel, points, np.arange(n), targets, targets * margins, kernel.diag(points), 3.0, 0.0,
        targets * np.asarray(coef), np.full(n, C),
    )  # fmt: skip


def test_xi_alpha_counts_the_points_with_twice_alpha_times_the_spread_plus_slack_of_one():
    # 2 alpha R^2 + xi: 1 + 0, 0.5 + 0, 0.5 + 0.5, 0.98 + 0, and no support vector with slack 0.9
    own = toy([1 / 16, 1 / 32, 1 / 32, 0.98 / 16, 0.0], [1.0, 1.0, 0.5, 1.5, 0.1])
    assert capacity.xi_alpha(own).value == 2 / 5
    assert capacity.xi_alpha(own).confidence == 1


def test_the_spread_of_kernel_values_is_found_in_blocks(costs):
    rows = []

    def inner(A, B):
        rows.append(len(A))
        return A @ B.T

    own = toy(
        [1 / 16, 1 / 32, 1 / 32, 0.98 / 16, 0.0],
        [1.0, 1.0, 0.5, 1.5, 0.1],
        kernel=mc.FunctionKernel(inner),
    )
    for block, largest in ((10, 2), (3, 1)):
        costs(BLOCK=block)
        rows.clear()
        assert capacity.xi_alpha(own).value == 2 / 5
        assert max(rows) == largest


def test_support_fraction_counts_the_coefficients():
    assert capacity.support_fraction(toy([0.5, 0.1, 0.0, 0.0, 0.2], np.ones(5))).value == 3 / 5


def test_jaakkola_and_haussler_compare_alpha_times_the_diagonal_with_the_margin():
    # alpha k(x, x) - y f(x): 0.5 - 0.25, 0.9 - 1, 0.9 - 0.9 (no error), 0 + 1, 0.9 - 1
    own = toy([0.5, 0.1, 0.1, 0.0, 0.1], [0.25, 1.0, 0.9, -1.0, 1.0])
    assert capacity.jaakkola_haussler(own).value == 2 / 5
    assert capacity.jaakkola_haussler(own).kind == "heuristic"


def test_opper_and_winther_use_squared_distances_to_linear_spans():
    # narrow Gaussian: every other vector is orthogonal, so each squared distance is 1 and alpha decides
    own = toy(
        [0.5, 0.9, 0.2, 1.0, 0.0],
        [1.0, 0.8, 1.0, 0.99, 1.0],
        100.0 * np.arange(5),
        mc.Gaussian(1.0),
    )
    assert capacity.opper_winther(own).value == 2 / 5


def test_radius_margin_is_squared_radius_times_squared_norm_over_n():
    # points 1 and 3 on a line have radius 1, and |w| = 3
    assert capacity.radius_margin(toy(np.ones(5), np.ones(5))).value == pytest.approx(
        9 / 5, rel=1e-6
    )
    ball = capacity.Ball(None, radius=2.0, least=2.0)
    assert capacity.radius_margin(toy(np.ones(5), np.ones(5)), ball).value == pytest.approx(36 / 5)


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(1.0), mc.Linear(), mc.Polynomial(3)], ids=["gauss", "linear", "poly"]
)
def test_the_error_is_that_of_refitting_without_each_point(kernel, global_random_seed):
    X, y = moons(global_random_seed)
    model = mc.SVC(C=3.0, kernel=kernel).fit(X, y)
    truth = np.mean(cross_val_predict(clone(model), X, y, cv=LeaveOneOut()) != y)
    assert capacity.leave_one_out(model, X, y) == truth


def test_the_error_of_nu_classification_is_that_of_refitting_without_each_point():
    # point 5 is not a support vector, and misclassified when left out
    X = np.array([[0.5], [-1.0], [0.3], [-1.5], [-0.9], [-0.1], [1.1], [-1.7], [1.2], [1.7]])
    y = np.array([0, 0, 0, 1, 1, 0, 1, 0, 0, 1])
    model = mc.NuSVC(nu=0.5, kernel=mc.Gaussian(1.0)).fit(X, y)
    wrong = cross_val_predict(clone(model), X, y, cv=LeaveOneOut()) != y
    assert wrong[5]
    assert 5 not in model.support_
    assert capacity.leave_one_out(model, X, y) == np.mean(wrong)
    own = capacity.model(model, X, y)
    for found in (capacity.xi_alpha(own), capacity.support_fraction(own)):
        assert found.value < np.mean(wrong)
        assert found.kind == "heuristic"


def test_a_given_matrix_is_cut(global_random_seed):
    X, y = moons(global_random_seed)
    K = mc.Gaussian(1.0)(X)
    given = capacity.leave_one_out(mc.SVC(kernel="precomputed").fit(K, y), K, y)
    assert given == capacity.leave_one_out(mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, y), X, y)


@pytest.mark.parametrize("C", [0.3, 1.0, 100.0])
def test_bounds_of_the_leave_one_out_error_always_hold(C):
    sharp = 0
    for seed in range(4):
        X, y = moons(seed, 40)
        model = mc.SVC(C=C, kernel=mc.Gaussian(0.5)).fit(X, y)
        own, truth = capacity.model(model, X, y), capacity.leave_one_out(model, X, y)
        for bound in (capacity.xi_alpha(own), capacity.support_fraction(own)):
            assert bound.confidence == 1
            assert truth <= bound.value + 1e-12
            sharp += bound.value < 1
    assert sharp


def test_bounds_count_misclassified_points_of_weight_0(global_random_seed):
    X, y = moons(global_random_seed, 40)
    weights = np.where(np.arange(40) % 4, 1.0, 0.0)
    y = np.where(weights > 0, y, 1 - y)
    model = mc.SVC(C=10.0, kernel=mc.Gaussian(0.5)).fit(X, y, weights)
    own, truth = capacity.model(model, X, y, weights), capacity.leave_one_out(model, X, y, weights)
    for bound in (capacity.xi_alpha(own), capacity.support_fraction(own)):
        assert bound.confidence == 1
        assert truth <= bound.value < 1
    only = toy([0.5, 0.1, 0.0, 0.0, 0.0], [1.0, 1.0, -0.5, 0.0, 0.1])
    assert capacity.support_fraction(only).value == 4 / 5
    # the classifier of the support vectors alone misclassifies them too
    assert capacity.sample_compression(own).vacuous


def test_without_a_vector_on_the_margin_nothing_is_known():
    X, y = moons(0, 40)
    own = capacity.model(mc.SVC(C=1e-3, kernel=mc.Gaussian(0.5)).fit(X, y), X, y)
    for bound in (capacity.xi_alpha(own), capacity.support_fraction(own)):
        assert bound.value == 1
        assert bound.vacuous
        assert "No support vector lies on the margin" in bound.statement


def test_the_rule_without_a_bias_is_that_of_inverse_matrices(global_random_seed):
    X, y = moons(global_random_seed)
    own = capacity.model(mc.SVC(C=1e4, kernel=mc.Gaussian(5.0)).fit(X, y), X, y)
    support = np.flatnonzero(own.coef)
    assert np.all(np.abs(own.coef) < own.upper_bounds)
    inverse = np.linalg.inv(own.kernel(X[support]))
    expected = np.mean(np.abs(own.coef[support]) / inverse.diagonal() > 1) * len(support) / len(X)
    assert capacity.opper_winther(own).value == expected


def test_the_estimate_of_jaakkola_and_haussler_is_above_the_span_rule():
    for seed in range(5):
        X, y = moons(seed, 100)
        model = mc.SVC(C=10.0, kernel=mc.Gaussian(1.0)).fit(X, y)
        own = capacity.model(model, X, y)
        assert capacity.jaakkola_haussler(own).value >= capacity.span_rule(model, X, y).value


def test_the_radius_margin_bound_holds_without_slack():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
        X[:, 0] += 8 * y
        model = mc.SVC(C=1e6, kernel="linear").fit(X, y)
        bound = capacity.radius_margin(capacity.model(model, X, y))
        assert capacity.leave_one_out(model, X, y) <= bound.value
        assert not bound.vacuous


def test_points_without_weight_are_judged_by_the_fit_itself():
    X, y = np.array([[-3.0], [-2.0], [2.0], [3.0], [-1.0], [0.2]]), np.array([0, 0, 1, 1, 1, 1])
    fitted = mc.SVC(C=9.0, kernel="linear").fit(X, y, [1, 1, 1, 1, 0, 0])
    margins = capacity.model(fitted, X, y).margins
    # f(x) = x / 2: one is misclassified, one lies within the margin
    assert np.allclose(margins[4:], [-0.5, 0.1])
    assert capacity.leave_one_out(fitted, X, y) == 1 / 6


def test_the_error_of_a_weighted_fit_is_that_of_weighted_fits_without_each_point(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    X, weights = rng.standard_normal((40, 2)), rng.integers(0, 5, 40).astype(float)
    y = (X[:, 0] + rng.standard_normal(40) > 0).astype(int)
    make = mc.SVC(C=1.0, kernel=mc.Gaussian(0.5), tol=1e-8)
    rest = [np.delete(np.arange(40), p) for p in range(40)]
    wrong = [
        make.fit(X[r], y[r], weights[r]).predict(X[p : p + 1])[0] != y[p]
        for p, r in enumerate(rest)
    ]
    assert capacity.leave_one_out(make.fit(X, y, weights), X, y, weights) == np.mean(wrong)


def test_a_class_that_vanishes_is_an_error():
    X, y = np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1])
    assert capacity.leave_one_out(mc.SVC(C=10.0, kernel=mc.Gaussian(0.1)).fit(X, y), X, y) >= 1 / 3


def test_a_regression_has_no_errors_to_count():
    X = np.linspace(0, 1, 10)[:, None]
    with pytest.raises(TypeError, match="needs a classifier, got SVR"):
        capacity.leave_one_out(mc.SVR().fit(X, X.ravel()), X, X.ravel())


def test_xi_alpha_is_a_heuristic_where_upper_bounds_differ():
    X, y = np.array([[-2.0], [0.0], [-1.0], [-2.0], [-1.0]]), np.array([1, 0, 1, 0, 1])
    weights = np.array([1.0, 1.0, 3.0, 4.0, 3.0])
    model = mc.SVC(C=0.25, kernel=mc.Gaussian(0.5)).fit(X, y, weights)
    own, bound = (
        capacity.model(model, X, y, weights),
        capacity.xi_alpha(capacity.model(model, X, y, weights)),
    )
    # 2 alpha R^2 + xi of point 4 is below 1, but the classifier without it misclassifies it
    assert 2 * own.coef[4] * (1 - np.exp(-2)) + max(0, 1 - own.margins[4]) < 1
    assert mc.SVC(C=0.25, kernel=mc.Gaussian(0.5)).fit(X[:4], y[:4], weights[:4]).predict(
        X[4:]
    ) == [0]
    assert bound.kind == "heuristic"
    assert "upper bounds" in bound.assumptions[0]
    by_class = mc.SVC(kernel=mc.Gaussian(0.5), class_weight={0: 2.0}).fit(X, y)
    assert capacity.xi_alpha(capacity.model(by_class, X, y)).kind == "heuristic"
    for same in (None, np.full(5, 2.0), np.array([1.0, 1.0, 1.0, 1.0, 0.0])):
        equal = mc.SVC(C=10.0, kernel=mc.Gaussian(0.5)).fit(X, y, same)
        assert capacity.xi_alpha(capacity.model(equal, X, y, same)).confidence == 1


@pytest.mark.parametrize(
    "options", [{"class_weight": "balanced"}, {"C": 1e-3}], ids=["balanced", "no vector on margin"]
)
def test_points_without_coefficient_are_left_out_too_where_they_matter(options):
    X, y = moons(0, 40)
    X, y = X[6:], y[6:]
    fits = []

    class Counting(mc.SVC):
        def fit(self, rows, *others):
            fits.append(np.asarray(rows))
            return super().fit(rows, *others)

    model = Counting(kernel=mc.Gaussian(0.5), **options).fit(X, y)
    truth = np.mean(cross_val_predict(clone(model), X, y, cv=LeaveOneOut()) != y)
    fits.clear()
    assert capacity.leave_one_out(model, X, y) == truth
    assert [rows.tolist() for rows in fits] == [np.delete(X, p, axis=0).tolist() for p in range(34)]


def test_a_multiple_of_a_given_matrix_is_cut(global_random_seed):
    X, y = moons(global_random_seed, 40)
    K = mc.Gaussian(1.0)(X)
    plain, half = (
        mc.SVC(C=C, kernel=k).fit(K, y)
        for C, k in ((1.0, "precomputed"), (2.0, 0.5 * mc.Precomputed()))
    )
    assert capacity.leave_one_out(half, K, y) == capacity.leave_one_out(plain, K, y)
    assert capacity.report(half, K, y).truth == capacity.report(plain, K, y).truth


@pytest.mark.parametrize("model", [mc.SVC(C=0.5), mc.SVC(multi_class="ovr"), mc.NuSVC(nu=0.6)])
def test_the_error_of_several_classes_is_that_of_refitting_without_each_point(
    model, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(36, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=36), [-0.4, 0.4])]
    model.set_params(kernel=mc.Gaussian(0.7)).fit(X, y)
    rest = ~np.eye(36, dtype=bool)
    expected = [clone(model).fit(X[r], y[r]).predict(X[~r]) != y[~r] for r in rest]
    assert mc.capacity.leave_one_out(model, X, y) == np.mean(expected)
