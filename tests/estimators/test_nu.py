"""NuSVC and NuSVR: scikit-learn's numbers, what nu bounds, the machines they are equal to, infeasible shares."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.nu import NuSVC, NuSVR
from mercer.estimators.svc import SVC
from mercer.estimators.svr import SVR

SETTINGS = [
    NuSVC(),
    NuSVC(0.3, kernel="linear", multi_class="ovr"),
    NuSVC(0.3, kernel=mc.Gaussian(0.1), class_weight="balanced"),
    NuSVC(0.3, kernel="precomputed"),
    NuSVR(),
    NuSVR(kernel="precomputed"),
    NuSVR(0.2, C=10.0, kernel="linear"),
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
    return X, y, np.digitize(y, np.quantile(y, [0.3, 0.6])), rng.standard_normal((20, 3)), rng.integers(1, 3, 120)


@pytest.mark.parametrize("nu", [0.2, 0.4])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_classes_are_those_of_scikit_learn(sample, nu, n_classes):
    X, _, c, new, _ = sample
    c = np.minimum(c, n_classes - 1)
    ours = NuSVC(nu, kernel=mc.Gaussian(0.3), decision_function_shape="ovo").fit(X, c)
    theirs = svm.NuSVC(nu=nu, gamma=0.3, tol=1e-10, decision_function_shape="ovo").fit(X, c)
    # scikit-learn keeps kernel values in float32
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), rtol=1e-5, atol=2e-4)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_values_are_those_of_scikit_learn(sample, nu):
    X, y, _, new, _ = sample
    ours = NuSVR(nu, C=2.0, kernel=mc.Gaussian(0.3)).fit(X, y)
    theirs = svm.NuSVR(nu=nu, C=2.0, gamma=0.3, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-5)


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_values_of_a_few_points_are_those_of_scikit_learn(sample, n):
    X, y, _, new, _ = sample
    ours = NuSVR(C=1.0, kernel=mc.Gaussian(0.3)).fit(X[:n], y[:n])
    theirs = svm.NuSVR(C=1.0, gamma=0.3, tol=1e-10).fit(X[:n], y[:n])
    np.testing.assert_allclose(ours.expansion_(new)[:, 0], theirs.predict(new) - theirs.intercept_, atol=1e-5)


def test_coefficients_of_a_regression_have_the_sum_that_nu_asks_for(sample):
    X, y, _, _, weights = sample
    model = NuSVR(0.3, C=2.0).fit(X, y, weights)
    np.testing.assert_allclose(np.abs(model.dual_coef_).sum(), 0.3 * 2.0 * weights.sum(), rtol=1e-8)


def test_few_free_coefficients_have_the_sum_that_nu_asks_for(global_random_seed):
    """Newton's method alone does not find the tube from where the search leaves it."""
    for seed in range(10):
        rng = np.random.default_rng([seed, global_random_seed])
        n, nu, C = int(rng.integers(20, 400)), rng.uniform(0.05, 0.95), 10 ** rng.uniform(-1, 2)
        X = rng.uniform(-2, 2, (n, 1))
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
        model = NuSVR(C=C, nu=nu, kernel=mc.Gaussian(10 ** rng.uniform(0.5, 1.5))).fit(X, y)
        # errors that a tube of no width leaves may be fewer than nu allows
        if model.epsilon_ > 0:
            assert np.abs(model.dual_coef_).sum() == pytest.approx(nu * C * n, rel=1e-9)
        assert np.abs(model.dual_coef_).sum() <= nu * C * n * (1 + 1e-9)


def test_coefficients_have_the_sum_that_nu_asks_for(sample):
    X, _, c, _, weights = sample
    model = NuSVC(0.3).fit(X, c > 0, weights)
    price = (np.abs(model.dual_coef_[:, 0]) / weights[model.support_]).max()
    np.testing.assert_allclose(np.abs(model.dual_coef_).sum(), 0.3 * price * weights.sum(), rtol=1e-8)


def test_the_classifier_is_the_svc_whose_price_is_its_largest_coefficient(sample):
    X, _, c, new, _ = sample
    model = NuSVC(0.3, kernel=mc.Gaussian(0.3)).fit(X, c > 0)
    same = SVC(float(np.abs(model.dual_coef_).max()), kernel=mc.Gaussian(0.3)).fit(X, c > 0)
    np.testing.assert_allclose(model.decision_function(new), same.decision_function(new), atol=1e-6)


def test_the_regression_is_the_svr_of_its_tube(sample):
    X, y, _, new, _ = sample
    model = NuSVR(0.4).fit(X, y)
    np.testing.assert_allclose(model.predict(new), SVR(epsilon=model.epsilon_).fit(X, y).predict(new), atol=1e-8)
    outside = np.abs(y - model.predict(X)) > model.epsilon_ * (1 + 1e-9)
    assert outside.mean() <= 0.4 <= len(model.support_) / len(y) + 1e-9


def test_nu_bounds_margin_errors_and_support_vectors(sample):
    X, _, c, _, _ = sample
    y = np.where(c > 0, 1, -1)
    model = NuSVC(0.4).fit(X, y)
    assert (y * model.decision_function(X) < 1 - 1e-9).mean() <= 0.4 <= len(model.support_) / len(y) + 1e-9


@pytest.mark.parametrize("estimator", [NuSVC(0.3), NuSVR(0.3)])
def test_the_certificate_from_raw_inputs_closes_the_gap(sample, estimator):
    X, y, c, _, weights = sample
    target = c if isinstance(estimator, NuSVC) else y
    model = estimator.fit(X, target, weights)
    certificate = mc.certify(model, X, target, weights)
    assert abs(certificate.gap) <= 1e-7 * certificate.primal
    assert certificate.kkt <= 1e-8


@pytest.mark.parametrize("estimator", [NuSVC(0.3), NuSVR(0.3)])
def test_a_weight_of_two_is_a_row_given_twice(sample, estimator):
    X, y, c, _, weights = sample
    target = c if isinstance(estimator, NuSVC) else y
    weighted = estimator.fit(X, target, weights).predict(X)
    repeated = estimator.fit(np.repeat(X, weights, axis=0), np.repeat(target, weights)).predict(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


def test_an_infeasible_nu_is_lowered_to_the_largest_feasible_one(sample):
    X, c = sample[0][:30], np.arange(30) < 3
    with pytest.warns(UserWarning, match=r"nu = 0.9 is infeasible.*lowered to 0.2"):
        lowered = NuSVC(0.9).fit(X, c)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        largest = NuSVC(0.2).fit(X, c)
    np.testing.assert_allclose(lowered.decision_function(X), largest.decision_function(X), atol=1e-9)


def test_at_the_largest_nu_the_heavier_class_weight_pushes_the_boundary_away(sample):
    X, c = sample[0][:30], (np.arange(30) < 3).astype(int)
    plain = NuSVC(0.2).fit(X, c)
    scores, sign = plain.decision_function(X), np.where(c > 0, 1, -1)
    # half way: the small class has one point on its side of the level, the large one has its level
    np.testing.assert_allclose([scores[c == 1].max(), scores[c == 0].max()], [1, -1], atol=1e-6)
    with pytest.warns(UserWarning, match="nu = 0.2 is infeasible"):
        pushed = NuSVC(0.2, class_weight={0: 3.0, 1: 1.0}).fit(X, c)
    # three quarters of the way, by the same coefficients up to a factor
    moved = pushed.decision_function(X)
    np.testing.assert_allclose(moved[c == 0].max() / (moved[c == 1].max() - moved[c == 0].max()), -0.75, atol=1e-6)
    for model in (plain, pushed):
        assert (sign * model.decision_function(X) >= 1 - 1e-9)[c == 0].all()


def test_classes_that_leave_no_margin_are_reported():
    X = np.tile(np.array([[0.0], [1.0], [2.0], [3.0]]), (2, 1))
    with pytest.warns(UserWarning, match="leaves no margin"):
        model = NuSVC(0.1, kernel="linear").fit(X, np.repeat([0, 1], 4))
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("estimator", [NuSVC(0.3, kernel=mc.Gaussian(0.3)), NuSVR(kernel=mc.Gaussian(0.3))])
def test_precomputed_sparse_and_float32_give_the_same_machine(sample, estimator):
    X, y, c, new, _ = sample
    target, kernel = (c if isinstance(estimator, NuSVC) else y), estimator.kernel
    expected = estimator.fit(X, target).predict(new)
    np.testing.assert_allclose(estimator.fit(sp.csr_array(X), target).predict(sp.csr_array(new)), expected, atol=1e-6)
    single = pickle.loads(pickle.dumps(estimator.fit(X.astype(np.float32), target)))
    assert single.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(single.predict(new.astype(np.float32)), expected, atol=1e-3)
    given = type(estimator)(estimator.nu, kernel="precomputed").fit(kernel(X), target)
    np.testing.assert_allclose(given.predict(kernel(new, X)), expected, atol=1e-6)


@pytest.mark.parametrize("nu", [0.0, -0.5, 1.5])
@pytest.mark.parametrize("estimator", [NuSVC, NuSVR])
def test_a_share_that_is_none_is_named(sample, estimator, nu):
    with pytest.raises(ValueError, match=f"nu = {nu} must be"):
        estimator(nu).fit(sample[0], sample[2])
