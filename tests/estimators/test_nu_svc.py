"""NuSVC: scikit-learn's numbers, what nu bounds, the SVC it is equal to, infeasible shares."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.nu_svc import NuSVC
from mercer.estimators.svc import SVC

SETTINGS = [
    NuSVC(),
    NuSVC(0.3, kernel="linear", multi_class="ovr"),
    NuSVC(0.3, kernel=mc.Gaussian(0.1), class_weight="balanced"),
    NuSVC(0.3, kernel="precomputed"),
]


@pytest.mark.filterwarnings("ignore:nu = ")
@parametrize_with_checks(SETTINGS)
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((120, 3))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(120)
    return (
        X,
        y,
        np.digitize(y, np.quantile(y, [0.3, 0.6])),
        rng.standard_normal((20, 3)),
        rng.integers(1, 3, 120),
    )


@pytest.mark.parametrize("nu", [0.21, 0.41])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_are_those_of_scikit_learn(sample, nu, n_classes):
    """Half of nu n is not a whole number: each class has a free coefficient, so that no boundary is open."""
    X, _, c, new, _ = sample
    c = np.minimum(c, n_classes - 1)
    ours = NuSVC(nu, kernel=mc.Gaussian(0.3), decision_function_shape="ovo").fit(X, c)
    theirs = svm.NuSVC(nu=nu, gamma=0.3, tol=1e-10, decision_function_shape="ovo").fit(X, c)
    # scikit-learn keeps kernel values in float32; coefficients are large where the margin is small
    rounding = np.finfo(np.float32).eps * np.abs(ours.dual_coef_).sum()
    np.testing.assert_allclose(
        ours.decision_function(new), theirs.decision_function(new), rtol=1e-5, atol=rounding
    )
    np.testing.assert_array_equal(ours.support_, theirs.support_)


def test_coefficients_have_the_sum_that_nu_asks_for(sample):
    X, _, c, _, weights = sample
    model = NuSVC(0.3).fit(X, c > 0, weights)
    C = (np.abs(model.dual_coef_[:, 0]) / weights[model.support_]).max()
    np.testing.assert_allclose(np.abs(model.dual_coef_).sum(), 0.3 * C * weights.sum(), rtol=1e-8)


def test_the_classifier_is_the_svc_whose_C_is_its_largest_coefficient(sample):
    X, _, c, new, _ = sample
    model = NuSVC(0.3, kernel=mc.Gaussian(0.3)).fit(X, c > 0)
    same = SVC(float(np.abs(model.dual_coef_).max()), kernel=mc.Gaussian(0.3)).fit(X, c > 0)
    np.testing.assert_allclose(model.decision_function(new), same.decision_function(new), atol=1e-6)


def test_nu_bounds_margin_errors_and_support_vectors(sample):
    X, _, c, _, _ = sample
    y = np.where(c > 0, 1, -1)
    model = NuSVC(0.4).fit(X, y)
    assert (
        (y * model.decision_function(X) < 1 - 1e-9).mean()
        <= 0.4
        <= len(model.support_) / len(y) + 1e-9
    )


def test_an_infeasible_nu_is_lowered_to_the_largest_feasible_one(sample):
    X, c = sample[0][:30], np.arange(30) < 3
    with pytest.warns(UserWarning, match=r"nu = 0.9 is infeasible.*lowered to 0.2"):
        lowered = NuSVC(0.9).fit(X, c)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        largest = NuSVC(0.2).fit(X, c)
    np.testing.assert_allclose(
        lowered.decision_function(X), largest.decision_function(X), atol=1e-9
    )


def test_at_the_largest_nu_the_heavier_class_weight_pushes_the_boundary_away(sample):
    X, c = sample[0][:30], (np.arange(30) < 3).astype(int)
    plain = NuSVC(0.2).fit(X, c)
    # half way: the small class has one point at its level, and so has the large one
    np.testing.assert_allclose(_levels(plain, X, c, 1.0), [1, -1], atol=1e-6)
    with pytest.warns(UserWarning, match="nu = 0.2 is infeasible"):
        pushed = NuSVC(0.2, class_weight={0: 3.0, 1: 1.0}).fit(X, c)
    small, large = _levels(pushed, X, c, 3.0)
    # three quarters of the way
    np.testing.assert_allclose(large / (small - large), -0.75, atol=1e-6)
    np.testing.assert_allclose(large, -1, atol=1e-6)


def _levels(model, X, c, weight):
    """Return the largest values of the small class, which is at its bounds, and of those below theirs in the large."""
    values, coef = model.decision_function(X), np.zeros(len(c))
    coef[model.support_] = np.abs(model.dual_coef_[:, 0])
    below = (c == 0) & (coef < weight * coef[c == 1].max() * (1 - 1e-9))
    return values[c == 1].max(), values[below].max()


def test_classes_that_leave_no_margin_are_reported():
    X = np.tile(np.array([[0.0], [1.0], [2.0], [3.0]]), (2, 1))
    with pytest.warns(
        UserWarning, match=r"nu = 0.1 leaves no margin between two classes.* nu = 1 is returned"
    ):
        model = NuSVC(0.1, kernel="linear").fit(X, np.repeat([0, 1], 4))
    assert np.isfinite(model.decision_function(X)).all()


def test_the_certificate_from_raw_inputs_closes_the_gap(sample):
    X, _, c, _, weights = sample
    model = NuSVC(0.3).fit(X, c, weights)
    certificate = mc.certify(model, X, c, weights)
    assert abs(certificate.gap) <= 1e-7 * certificate.primal
    assert certificate.kkt <= 1e-8


def test_a_weight_of_two_is_a_row_given_twice(sample):
    X, _, c, _, weights = sample
    weighted = NuSVC(0.3).fit(X, c, weights).decision_function(X)
    repeated = (
        NuSVC(0.3).fit(np.repeat(X, weights, axis=0), np.repeat(c, weights)).decision_function(X)
    )
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


def test_precomputed_sparse_and_float32_give_the_same_classifier(sample):
    X, _, c, new, _ = sample
    estimator = NuSVC(0.3, kernel=mc.Gaussian(0.3))
    kernel = estimator.kernel
    expected = estimator.fit(X, c).decision_function(new)
    np.testing.assert_allclose(
        estimator.fit(sp.csr_array(X), c).decision_function(sp.csr_array(new)), expected, atol=1e-6
    )
    single = pickle.loads(pickle.dumps(estimator.fit(X.astype(np.float32), c)))
    assert single.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(
        single.decision_function(new.astype(np.float32)), expected, atol=1e-3
    )
    given = type(estimator)(estimator.nu, kernel="precomputed").fit(kernel(X), c)
    np.testing.assert_allclose(given.decision_function(kernel(new, X)), expected, atol=1e-6)


@pytest.mark.parametrize("nu", [0.0, -0.5, 1.5])
def test_a_share_outside_0_to_1_is_named(sample, nu):
    with pytest.raises(ValueError, match=f"nu = {nu} must be"):
        NuSVC(nu).fit(sample[0], sample[2])


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize(("nu", "other"), [(0.2, 0.4), (0.4, 0.2)])
def test_a_model_of_another_nu_is_certified_as_no_solution(sample, nu, other, multi_class):
    X, _, c, _, weights = sample
    model = NuSVC(nu, multi_class=multi_class).fit(X, c, weights)
    assert abs(mc.certify(model, X, c, weights).gap) <= 1e-7 * model.certificate_.primal
    wrong = mc.certify(model.set_params(nu=other), X, c, weights)
    assert wrong.gap == np.inf
    assert wrong.kkt > 0.4


def test_a_classifier_without_errors_is_certified_for_every_nu_that_it_solves():
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    model = NuSVC(0.1, kernel="linear").fit(X, y)
    # the margin lies between two points, each with half of the sum: at most 0.5 of 4
    for nu in (0.1, 0.3, 0.5):
        found = mc.certify(model.set_params(nu=nu), X, y)
        np.testing.assert_allclose([found.gap, found.kkt], 0, atol=1e-12)
    assert mc.certify(model.set_params(nu=0.6), X, y).gap == np.inf


def test_the_classifier_that_stands_for_none_is_certified(sample):
    X, y, weights = sample[0], sample[-1] % 2, sample[-1]
    with pytest.warns(UserWarning, match="leaves no margin"):
        model = NuSVC(0.1, kernel=mc.Gaussian(0.1)).fit(X, y, weights)
    found = mc.certify(model, X, y, weights)
    assert abs(found.gap) <= 1e-6 * found.primal
    assert found.kkt <= 1e-6


@pytest.mark.parametrize("seed", [1, 7, 8, 14, 20])
def test_one_problem_has_one_classifier_where_few_points_are_at_the_margin(seed):
    """A class without a point at its margin leaves its level open: half way is taken whatever the steps round to."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7)) * 10
    X = rng.standard_normal((n, 2))
    y = X[:, 0] + 0.4 * rng.standard_normal(n) > 0
    values = NuSVC(0.4, kernel="linear").fit(X, y).decision_function(X)
    thrice, scale = np.repeat(np.arange(n), 3), np.abs(values).max()
    for points, labels, weights in (
        (X[::-1], y[::-1], None),
        (X, y, np.full(n, 3.0)),
        (X[thrice], y[thrice], None),
    ):
        same = NuSVC(0.4, kernel="linear").fit(points, labels, weights)
        np.testing.assert_allclose(same.decision_function(X), values, atol=1e-9 * scale)


@pytest.mark.filterwarnings("ignore:nu = ")
def test_a_weight_of_five_is_five_rows_where_no_margin_exists():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), rng.integers(0, 2, 40)
    # weights that move the mean of a class
    weights = np.where((y == 0) & (X[:, 0] > 0), 5, 1)
    rows = rng.permutation(np.repeat(np.arange(40), weights))
    weighted = NuSVC(0.3, kernel=mc.Gaussian(0.1)).fit(X, y, weights)
    repeated = NuSVC(0.3, kernel=mc.Gaussian(0.1)).fit(X[rows], y[rows])
    values = weighted.decision_function(X)
    np.testing.assert_allclose(
        repeated.decision_function(X), values, atol=1e-6 * np.abs(values).max()
    )


def test_a_small_tolerance_holds_for_float32_kernel_values_of_close_points(global_random_seed):
    # nearly all values are 0, few are large: no sample tells the rounding of distances
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.normal(size=(500, 12)), np.resize([0, 1], 500)
    X[:40] = X[40:80] + 0.1 * rng.normal(size=(40, 12))
    model = mc.NuSVC(0.2, kernel=mc.Gaussian(1.0), tol=1e-5).fit(X, y)
    assert mc.certify(model, X, y).kkt <= 1.1e-5


@pytest.mark.parametrize("seed", [100, 160, 186, 345, 456, 538])
def test_separated_classes_are_certified_though_float32_rounds_their_coefficients(seed):
    # all coefficients of a wide kernel have one rounding in common, which moves all values and violates nothing
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((6, 10)).astype(np.float32), np.resize([0, 1], 6)
    model = mc.NuSVC(0.1, kernel=mc.Gaussian(2e-4)).fit(X, y)
    found = mc.certify(model, X, y)
    assert found.kkt <= model.tol
    assert found.gap <= 1e-3 * found.primal


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(6))
def test_a_negative_eigenvalue_that_rounding_makes_is_no_loss_of_separated_classes(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((12, 2)), np.resize([0, 1], 12)
    X[y == 1, 0] += 4
    # of rank 2: ten eigenvalues are roundings of 0
    K = (X @ X.T).astype(np.float32)
    model = mc.NuSVC(0.1, kernel="precomputed").fit(K, y)
    for found in (model.certificate_, mc.certify(model, K, y)):
        assert found.kkt <= model.tol
        assert found.gap <= 1e-3 * found.primal


def test_the_violations_of_both_classes_together_are_within_the_tolerance(global_random_seed):
    # features of 50 dimensions are unrelated: free coefficients are nearly equal, and no step changes many of them
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.standard_normal((200, 50)), np.resize([0, 1], 200)
    X[y == 1, 0] += 5
    model = mc.NuSVC(0.12, kernel=mc.Gaussian(0.76)).fit(X, y)
    found = mc.certify(model, X, y)
    assert found.kkt <= model.certificate_.kkt * (1 + 1e-9) + 1e-12
    assert found.kkt <= model.tol


def test_classes_that_leave_no_margin_are_known_before_the_margin_is_solved_for(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 1.5 * rng.normal(size=300) > 0
    with pytest.warns(UserWarning, match="leaves no margin"):
        model = mc.NuSVC(0.1, kernel=mc.Gaussian(0.5)).fit(X, y)
    # a margin of 0 to the tolerance takes 100 000 steps
    assert model.n_iter_[0] < 60_000
    # the classifier of the small margin is that of a large C
    C = float(np.abs(model.dual_coef_).max())
    large = mc.SVC(C, kernel=mc.Gaussian(0.5), tol=1e-6).fit(X, y)
    expected = large.decision_function(X)
    np.testing.assert_allclose(
        model.decision_function(X), expected, atol=1e-3 * np.abs(expected).max()
    )
