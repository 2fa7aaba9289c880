"""NuSVR: scikit-learn's numbers, what nu bounds, the SVR it is equal to."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.nu_svr import NuSVR
from mercer.estimators.svr import SVR

SETTINGS = [NuSVR(), NuSVR(kernel="precomputed"), NuSVR(0.2, C=10.0, kernel="linear")]


@parametrize_with_checks(SETTINGS)
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((120, 3))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(120)
    return X, y, rng.standard_normal((20, 3)), rng.integers(1, 3, 120)


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_values_are_those_of_scikit_learn(sample, nu):
    X, y, new, _ = sample
    ours = NuSVR(nu, C=2.0, kernel=mc.Gaussian(0.3)).fit(X, y)
    theirs = svm.NuSVR(nu=nu, C=2.0, gamma=0.3, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-5)


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_values_of_a_few_points_are_those_of_scikit_learn(sample, n):
    X, y, new, _ = sample
    ours = NuSVR(C=1.0, kernel=mc.Gaussian(0.3)).fit(X[:n], y[:n])
    theirs = svm.NuSVR(C=1.0, gamma=0.3, tol=1e-10).fit(X[:n], y[:n])
    np.testing.assert_allclose(
        ours.expansion_(new)[:, 0], theirs.predict(new) - theirs.intercept_, atol=1e-5
    )


def test_coefficients_of_a_regression_have_the_sum_that_nu_asks_for(sample):
    X, y, _, weights = sample
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


def test_objectives_of_linear_kernels_are_those_of_scikit_learn(global_random_seed):
    """The sum of sizes jumps with epsilon where kernel values have a small rank, and the certificate includes it."""
    for seed in range(12):
        rng = np.random.default_rng([seed, global_random_seed])
        n, d, nu, C = (
            int(rng.integers(5, 150)),
            int(rng.integers(1, 6)),
            rng.uniform(0.1, 0.9),
            10 ** rng.uniform(-1, 1),
        )
        X = rng.standard_normal((n, d)) + 1
        y = np.round(X[:, 0] + 0.5 * rng.standard_normal(n), int(rng.integers(0, 3)))
        ours = NuSVR(nu, C=C, kernel="linear", tol=1e-5).fit(X, y)
        theirs = svm.NuSVR(nu=nu, C=C, kernel="linear", tol=1e-8).fit(X, y)

        def objective(w, b, nu=nu, C=C, X=X, y=y):
            error = np.abs(y - X @ w - b)
            tubes = [nu * len(y) * tube + np.maximum(error - tube, 0).sum() for tube in (0, *error)]
            return 0.5 * w @ w + C * min(tubes)

        best = objective(theirs.coef_[0], theirs.intercept_[0])
        slack = 1e-5 * C * n
        assert objective(ours.coef_[0], ours.intercept_[0]) <= best + slack
        assert ours.certificate_.dual <= best + 1e-9 * abs(best)
        assert ours.certificate_.primal == pytest.approx(best, abs=slack)


def test_the_regression_is_the_svr_of_its_epsilon(sample):
    X, y, new, _ = sample
    model = NuSVR(0.4).fit(X, y)
    np.testing.assert_allclose(
        model.predict(new), SVR(epsilon=model.epsilon_).fit(X, y).predict(new), atol=1e-8
    )
    outside = np.abs(y - model.predict(X)) > model.epsilon_ * (1 + 1e-9)
    assert outside.mean() <= 0.4 <= len(model.support_) / len(y) + 1e-9


def test_the_certificate_from_raw_inputs_closes_the_gap(sample):
    X, y, _, weights = sample
    model = NuSVR(0.3).fit(X, y, weights)
    certificate = mc.certify(model, X, y, weights)
    assert abs(certificate.gap) <= 1e-7 * certificate.primal
    assert certificate.kkt <= 1e-8


def test_a_weight_of_two_is_a_row_given_twice(sample):
    X, y, _, weights = sample
    weighted = NuSVR(0.3).fit(X, y, weights).predict(X)
    repeated = NuSVR(0.3).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


def test_precomputed_sparse_and_float32_give_the_same_function(sample):
    X, y, new, _ = sample
    estimator = NuSVR(0.3, kernel=mc.Gaussian(0.3))
    kernel = estimator.kernel
    expected = estimator.fit(X, y).predict(new)
    np.testing.assert_allclose(
        estimator.fit(sp.csr_array(X), y).predict(sp.csr_array(new)), expected, atol=1e-6
    )
    single = pickle.loads(pickle.dumps(estimator.fit(X.astype(np.float32), y)))
    assert single.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(single.predict(new.astype(np.float32)), expected, atol=1e-3)
    given = type(estimator)(estimator.nu, kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(given.predict(kernel(new, X)), expected, atol=1e-6)


@pytest.mark.parametrize("nu", [0.0, -0.5, 1.5])
def test_a_share_outside_0_to_1_is_named(sample, nu):
    with pytest.raises(ValueError, match=f"nu = {nu} must be"):
        NuSVR(nu).fit(*sample[:2])


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_targets_of_any_scale_give_the_same_function(sample, scale):
    X, y, _, _ = sample
    one, other = NuSVR(0.4, C=2.0).fit(X, y), NuSVR(0.4, C=2.0 * scale).fit(X, y * scale)
    np.testing.assert_allclose(other.predict(X) / scale, one.predict(X), atol=1e-6)
    np.testing.assert_allclose(other.epsilon_ / scale, one.epsilon_, rtol=1e-6)
    assert mc.certify(other, X, y * scale).gap <= 1e-6 * abs(other.certificate_.primal)


@pytest.mark.parametrize("kernel", ["linear", mc.Polynomial(2), mc.Gaussian(0.7)], ids=repr)
@pytest.mark.parametrize("nu", [0.3, 0.6])
def test_kernels_of_small_rank_are_solved_to_the_last_digits(kernel, nu, global_random_seed):
    """The sum of sizes jumps with epsilon: for linear kernels, and for points on a grid."""
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((47, 2)).round()
    y, weights, rows = (
        X[:, 0] + rng.standard_normal(47),
        rng.integers(1, 3, 47),
        rng.permutation(47),
    )
    model = NuSVR(nu, C=3.0, kernel=kernel).fit(X, y)
    found = mc.certify(model, X, y)
    assert found.kkt <= 1e-9
    assert abs(found.gap) <= 1e-9 * found.primal
    np.testing.assert_allclose(
        NuSVR(nu, C=3.0, kernel=kernel).fit(X[rows], y[rows]).predict(X), model.predict(X)
    )
    weighted = NuSVR(nu, C=3.0, kernel=kernel).fit(X, y, weights).predict(X)
    repeated = (
        NuSVR(nu, C=3.0, kernel=kernel)
        .fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        .predict(X)
    )
    np.testing.assert_allclose(weighted, repeated, atol=1e-9)


def test_an_edge_of_the_tube_without_a_free_point_is_half_way():
    # a constant: the upper edge lies between 5 and 9, the lower one between 0 and 1
    X, y = np.array([[0.1], [0.2], [0.3], [0.4]]), np.array([0.0, 1.0, 5.0, 9.0])
    model = NuSVR(0.5, C=1e-9, kernel="linear").fit(X, y)
    np.testing.assert_allclose([model.intercept_[0], model.epsilon_], [3.75, 3.25], rtol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_the_tube_does_not_depend_on_the_order_of_rows(seed):
    rng = np.random.default_rng(seed)
    n = 10 * int(rng.integers(2, 7))
    X = rng.standard_normal((n, 2))
    y = X[:, 0] + rng.standard_normal(n)
    first = NuSVR(0.4, kernel="linear").fit(X, y)
    for rows in (np.arange(n)[::-1], rng.permutation(n)):
        other = NuSVR(0.4, kernel="linear").fit(X[rows], y[rows])
        np.testing.assert_allclose(other.predict(X), first.predict(X), atol=1e-9)
        np.testing.assert_allclose(other.epsilon_, first.epsilon_, rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_a_fit_of_huge_kernel_values_ends():
    # the sum of the coefficients is rounding, which no constant added to them removes
    X = np.random.default_rng((106, 180)).normal(size=(40, 3))
    model = NuSVR(kernel=mc.Polynomial(180)).fit(X, X[:, 1])
    assert np.isfinite(model.predict(X)).all()
