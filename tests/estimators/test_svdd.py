"""SVDD: the ball contains every point and touches some, equals the one-class model, and has a certificate."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.one_class_svm import OneClassSVM
from mercer.estimators.svdd import SVDD


def shortcomings(estimator):
    """Return the checks that a matrix of kernel values cannot pass."""
    points = "the check passes 300 x 2 points as a precomputed matrix; scikit-learn's OneClassSVM fails it too"
    norms = "the check predicts new points of a linear kernel, whose k(x, x) a matrix does not tell"
    names = {
        "check_outliers_train": points,
        "check_outliers_fit_predict": points,
        "check_fit_idempotent": norms,
    }
    return names if estimator.kernel == "precomputed" else {}


@parametrize_with_checks(
    [SVDD(), SVDD(kernel="linear"), SVDD(kernel="precomputed")], expected_failed_checks=shortcomings
)
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    return rng.standard_normal((200, 3)) + 2, rng.standard_normal((20, 3)), rng.integers(0, 3, 200)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", mc.Laplacian(0.5)])
def test_at_an_infinite_C_the_ball_holds_every_point_and_touches_its_support(sample, kernel, dtype):
    X = sample[0].astype(dtype)
    model = SVDD(np.inf, kernel=kernel).fit(X)
    assert (model.predict(X) == 1).all()
    distance = mc.sqdist(mc.features(model.kernel_, X), model.centre_)[:, 0]
    np.testing.assert_allclose(
        distance[model.support_], model.radius_**2, rtol=1e-3 if dtype == np.float32 else 1e-9
    )
    np.testing.assert_allclose(model.dual_coef_.sum(), 1, rtol=1e-6)


def test_the_ball_around_points_of_the_plane_is_the_known_one():
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    X = np.vstack([3 * np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros((5, 2))]) + [
        10.0,
        -4.0,
    ]
    model = SVDD(np.inf, kernel="linear").fit(X)
    np.testing.assert_allclose(model.radius_, 3, rtol=1e-9)
    np.testing.assert_allclose(model.dual_coef_[:, 0] @ model.support_vectors_, [10, -4], atol=1e-8)


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.3), mc.Laplacian(0.5), mc.Polynomial(3), "linear"], ids=repr
)
@pytest.mark.parametrize(
    ("n", "d", "nu", "mean"), [(60, 4, 0.2, 0.0), (300, 20, 0.5, 1.0), (200, 2, 0.05, 30.0)]
)
def test_rows_in_float32_leave_the_points_on_the_sphere_inside(
    kernel, n, d, nu, mean, global_random_seed
):
    X = np.random.default_rng(global_random_seed).standard_normal((n, d)) + mean
    model = SVDD(1 / (nu * n), kernel=kernel).fit(X)
    assert np.mean(model.predict(X.astype(np.float32)) == model.predict(X)) >= 0.99
    squares = model.kernel_.diag(X)
    margin = -model.offset_ - model.radius_**2
    distances = -model.score_samples(X[model.support_])
    assert 0 < margin <= 128 * np.finfo(np.float32).eps * squares.max()
    assert margin <= 2.001e-3 * model.dual_coef_[:, 0] @ distances


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_at_a_finite_C_at_most_the_share_is_outside(sample, share):
    X = sample[0]
    model = SVDD(1 / (share * len(X))).fit(X)
    assert 0 < (model.predict(X) < 0).mean() <= share


def test_with_constant_norms_the_ball_is_the_half_space(sample):
    X, new, _ = sample
    ball, half = SVDD(1 / (0.2 * len(X))).fit(X), OneClassSVM(0.2).fit(X)
    scaled = 2 * half.decision_function(new) / half.dual_coef_.sum()
    np.testing.assert_allclose(ball.decision_function(new), scaled, atol=1e-8)


@pytest.mark.parametrize("C", [np.inf, None, 0.02])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_certificate_from_raw_inputs_closes_the_gap(sample, kernel, C):
    X, _, weights = sample
    certificate = mc.certify(SVDD(C, kernel=kernel).fit(X, sample_weight=weights), X, None, weights)
    assert abs(certificate.gap) <= 1e-8 * certificate.primal
    assert certificate.kkt <= 1e-8


def test_a_weight_of_two_is_a_row_given_twice(sample):
    X, new, weights = sample
    weighted = SVDD(0.02).fit(X, sample_weight=weights).decision_function(new)
    repeated = SVDD(0.02).fit(np.repeat(X, weights, axis=0)).decision_function(new)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)


def test_precomputed_sparse_callables_and_copies_give_the_same_ball(sample):
    X, new, _ = sample
    kernel = mc.Gaussian(0.3)
    expected = SVDD(kernel=kernel).fit(X).decision_function(new)
    given = SVDD(kernel="precomputed").fit(kernel(X)).decision_function(kernel(new, X))
    sparse = SVDD(kernel=kernel).fit(sp.csr_array(X)).decision_function(sp.csr_array(new))
    called = SVDD(kernel=lambda A, B: kernel(A, B)).fit(X).decision_function(new)
    copied = pickle.loads(pickle.dumps(SVDD(kernel=kernel).fit(X))).decision_function(new)
    for values in (given, sparse, called, copied):
        np.testing.assert_allclose(values, expected, atol=1e-8)


def test_a_matrix_tells_the_norms_of_training_points_only(sample):
    X, new, _ = sample
    model, same = SVDD(kernel="precomputed").fit(X @ X.T), SVDD(kernel="linear").fit(X)
    some = X[::7] @ X.T
    np.testing.assert_allclose(
        model.decision_function(some), same.decision_function(X[::7]), atol=1e-7
    )
    with pytest.raises(ValueError, match="of row 0 is not known: it is not a training row"):
        model.predict(new @ X.T)


def test_an_infeasible_C_is_raised(sample):
    with pytest.warns(
        UserWarning, match=r"C = 0.001 is infeasible for weights of sum 200; raised to 0.005"
    ):
        model = SVDD(0.001).fit(sample[0])
    np.testing.assert_allclose(model.dual_coef_, 0.005)


@pytest.mark.parametrize("C", [0, -1.0, float("nan")])
def test_a_C_that_is_not_positive_is_named(sample, C):
    with pytest.raises(ValueError, match=f"C = {C} must be"):
        SVDD(C).fit(sample[0])


@pytest.mark.parametrize("C", [np.inf, 0.2])
def test_a_kernel_that_is_definite_on_changes_of_sum_0_only_has_a_ball_of_its_distances(sample, C):
    # k(x, z) = -|x - z| - 1: squared distances 2 |x - z|, and a centre of negative squared length
    X = sample[0][:40]
    K = -np.linalg.norm(X[:, None] - X[None], axis=2) - 1
    model = SVDD(C, kernel="precomputed").fit(K)
    b = np.zeros(40)
    b[model.support_] = model.dual_coef_[:, 0]
    distances = np.diag(K) - 2 * K @ b + b @ K @ b
    assert b @ K @ b < 0
    np.testing.assert_allclose(model.score_samples(K), -distances, atol=1e-10)
    at = (b > 1e-6) & (b < C - 1e-6)
    np.testing.assert_allclose(distances[at], model.radius_**2, rtol=1e-2)
    found = mc.certify(model, K)
    assert found.convex
    assert found.gap <= 1e-2 * found.primal
    assert model.certificate_.primal == pytest.approx(found.primal)


@pytest.mark.parametrize("C", [np.inf, 0.05])
def test_float32_kernel_values_of_a_matrix_leave_no_point_of_the_sphere_outside(
    C, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    for gamma in 10.0 ** np.linspace(-2, 1, 7):
        K = mc.Gaussian(gamma)(rng.standard_normal((100, 3))).astype(np.float32)
        outside = np.count_nonzero(SVDD(C, kernel="precomputed").fit(K).predict(K) < 0)
        assert outside <= 1 / C
