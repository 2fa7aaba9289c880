"""KernelRidge: results of scikit-learn, Gaussian processes, leave-one-out residuals, and the checks of scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.interpolate import RBFInterpolator
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge as Reference
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.kernel_ridge import KernelRidge
from mercer.kernels import Constant
from mercer.solvers import landmark_ridge, ridge

SETTINGS = [
    KernelRidge(),
    KernelRidge(0.1, kernel="rbf"),
    KernelRidge(kernel=mc.Matern(length=2.0), memory="1kB"),
    KernelRidge(kernel=mc.Gaussian("scale") + mc.Linear(), landmarks=1000, rule="greedy"),
    KernelRidge(0.0, kernel="poly"),
    KernelRidge(0.1, kernel="rbf", tune="loo"),
    KernelRidge(0.1, kernel=mc.Matern(2.0), tune="marginal_likelihood"),
    KernelRidge(0.1, kernel="rbf", free="constant"),
    KernelRidge(0.1, kernel=mc.Matern(2.0), free="linear"),
]


@parametrize_with_checks(SETTINGS)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((50, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.standard_normal((50, 2))
    return X, Y, rng.standard_normal((20, 3)), rng.integers(0, 4, 50).astype(float)


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        (mc.Gaussian(0.3), {"kernel": "rbf", "gamma": 0.3}),
        (mc.Polynomial(2, 0.5, 1.0), {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}),
        (mc.Laplacian(0.2), {"kernel": "laplacian", "gamma": 0.2}),
        ("linear", {}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_and_coefficients_are_those_of_scikit_learn(
    sample, kernel, parameters, weighted
):
    X, Y, new, weights = sample
    weights = weights if weighted else None
    ours = KernelRidge(0.1, kernel=kernel).fit(X, Y, weights)
    theirs = Reference(alpha=0.1, **parameters).fit(X, Y, weights)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-10)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(ours.expansion_(new) + ours.intercept_, ours.predict(new), atol=0)
    assert ours.residual_ <= 1e-12


def test_one_target_gives_vectors_and_several_give_columns(sample):
    X, Y, new, _ = sample
    one, two = (KernelRidge(0.1, kernel="rbf").fit(X, y) for y in (Y[:, 0], Y))
    assert one.predict(new).shape == (20,)
    assert one.dual_coef_.shape == one.loo_residuals_.shape == (50,)
    np.testing.assert_allclose(two.predict(new)[:, 0], one.predict(new), atol=1e-12)
    np.testing.assert_allclose(two.loo_residuals_[:, 0], one.loo_residuals_, atol=1e-12)


@pytest.mark.parametrize("memory", ["1GB", "1kB"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_target_has_its_own_alpha_as_in_scikit_learn(sample, memory, weighted):
    X, Y, new, weights = sample
    weights = weights + 0.5 if weighted else None
    Y = np.column_stack([Y, Y[:, 0] ** 2])
    alpha = np.array([0.1, 3.0, 0.1])
    ours = KernelRidge(alpha, kernel=mc.Gaussian(0.3), memory=memory).fit(X, Y, weights)
    theirs = Reference(alpha=alpha, kernel="rbf", gamma=0.3).fit(X, Y, weights)
    np.testing.assert_allclose(
        ours.predict(new), theirs.predict(new), atol=1e-5 if memory == "1kB" else 1e-10
    )
    largest = max(
        KernelRidge(a, kernel=mc.Gaussian(0.3), memory=memory).fit(X, Y, weights).residual_
        for a in alpha
    )
    assert 0.1 * largest < ours.residual_ < 10 * largest
    assert mc.certify(ours, X, Y, weights).residuals.shape == (3,)
    assert mc.certify(ours, X, Y, weights).residuals.max() < 1e-4


@pytest.mark.parametrize("container", [list, tuple, pd.Series, pl.Series])
def test_numbers_for_targets_may_be_in_any_container(sample, container):
    X, Y, new, _ = sample
    expected = KernelRidge(np.array([0.1, 3.0]), kernel="rbf").fit(X, Y).predict(new)
    np.testing.assert_array_equal(
        KernelRidge(container([0.1, 3.0]), kernel="rbf").fit(X, Y).predict(new), expected
    )


@pytest.mark.parametrize("on_disk", [False, True])
def test_each_target_has_its_own_alpha_over_landmarks(sample, on_disk, tmp_path):
    X, Y, new, weights = sample
    rows = X
    if on_disk:
        np.save(tmp_path / "X.npy", X)
        rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = KernelRidge([3.0, 0.1], kernel=mc.Gaussian(0.3), landmarks=X[:20]).fit(rows, Y, weights)
    for j, alpha in enumerate([3.0, 0.1]):
        one = KernelRidge(alpha, kernel=mc.Gaussian(0.3), landmarks=X[:20]).fit(X, Y[:, j], weights)
        np.testing.assert_allclose(model.predict(new)[:, j], one.predict(new), atol=1e-10)
    assert model.trace_error_ == pytest.approx(one.trace_error_)


@pytest.mark.parametrize("free", [None, "linear"])
def test_targets_of_different_alpha_have_a_variance_each(sample, free):
    X, Y, new, weights = sample
    model = KernelRidge([3.0, 0.1], kernel=mc.Gaussian(0.3), free=free).fit(X, Y, weights)
    for j, alpha in enumerate([3.0, 0.1]):
        one = KernelRidge(alpha, kernel=mc.Gaussian(0.3), free=free).fit(X, Y[:, j], weights)
        np.testing.assert_allclose(model.variance(new)[:, j], one.variance(new), atol=1e-10)
    deviations = model.predict(new, return_std=True)[1]
    np.testing.assert_array_equal(deviations**2, np.sqrt(model.variance(new)) ** 2)


def test_targets_of_different_alpha_have_no_covariance_and_say_so(sample):
    X, Y, new, _ = sample
    model = KernelRidge([0.1, 3.0], kernel="rbf").fit(X, Y)
    few = KernelRidge([0.1, 3.0], kernel="rbf", landmarks=9).fit(X, Y)
    for refused in (
        lambda: model.predict(new, return_cov=True),
        lambda: model.loo_residuals_,
        lambda: few.variance(new),
    ):
        with pytest.raises(
            AttributeError, match="one alpha for all targets; fit a model for each target"
        ):
            refused()
    assert not hasattr(few, "posterior_")
    equal = KernelRidge([0.1, 0.1], kernel="rbf").fit(X, Y)
    np.testing.assert_allclose(
        equal.variance(new), KernelRidge(0.1, kernel="rbf").fit(X, Y).variance(new)
    )
    assert equal.alpha_ == 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_of_a_list_of_alphas_are_those_of_a_fit_with_each(sample, weighted):
    X, Y, _, weights = sample
    weights = weights if weighted else None
    model = KernelRidge(1.0, kernel=mc.Gaussian(0.3)).fit(X, Y, weights)
    rows = np.array([4, 1, 7])
    alphas = [0.01, 0.5, 20.0]
    found = model.leave_one_out(alphas, rows)
    for residuals, alpha in zip(found, alphas, strict=True):
        one = KernelRidge(alpha, kernel=mc.Gaussian(0.3)).fit(X, Y, weights)
        np.testing.assert_allclose(residuals, one.loo_residuals_[rows], rtol=1e-8)
    single = KernelRidge(1.0, kernel=mc.Gaussian(0.3)).fit(X, Y[:, 0], weights)
    np.testing.assert_allclose(single.leave_one_out(alphas, rows), found[..., 0], rtol=1e-10)


def test_residuals_of_a_list_of_alphas_are_refused_where_they_are_not_known(sample):
    X, Y, _, weights = sample
    kernel = mc.Gaussian(0.3)
    whole = KernelRidge(1.0, kernel=kernel)
    cases = [
        (
            KernelRidge(1.0, kernel=kernel, landmarks=9).fit(X, Y),
            [1.0],
            AttributeError,
            "landmarks",
        ),
        (clone(whole).fit(X, Y), [0.0], ValueError, "alphas = 0.0 must be above 0"),
        (clone(whole).fit(X[[0, 0, *range(9)]], Y[:11]), [1e-18], ValueError, "larger numbers"),
        (clone(whole).fit(X, Y, weights * (np.arange(len(X)) > 0)), [1.0], ValueError, "weight 0"),
    ]
    for model, alphas, error, message in cases:
        with pytest.raises(error, match=message):
            model.leave_one_out(alphas)
    model = clone(whole).fit(X, Y)
    for rows in ([len(X)], [-len(X) - 1], [0.0], [[0]], [], np.ones(len(X), bool)):
        with pytest.raises(ValueError, match=f"rows = .* integers from 0 to {len(X) - 1}"):
            model.leave_one_out([1.0], rows)


@pytest.mark.parametrize("landmarks", [None, 12])
def test_the_effective_dimension_is_that_of_the_eigenvalues(sample, landmarks):
    X, Y, _, weights = sample
    weights = np.where(np.arange(len(X)) < 3, 0.0, weights)
    kernel = mc.Gaussian(0.3)
    model = KernelRidge(0.1, kernel=kernel, landmarks=None if landmarks is None else X[:landmarks])
    model.fit(X, Y, weights)
    root, Z = np.sqrt(weights)[:, None], X[:landmarks]
    values, vectors = np.linalg.eigh(kernel(Z))
    F = root * (kernel(X, Z) @ vectors) / np.sqrt(values)
    squares = np.linalg.svd(F, compute_uv=False) ** 2
    assert model.effective_dimension_ == pytest.approx(np.sum(squares / (squares + 0.1)), rel=1e-9)
    assert model.set_params(alpha=1e9).fit(X, Y).effective_dimension_ == pytest.approx(0, abs=1e-6)
    with pytest.raises(AttributeError, match="one alpha for all targets"):
        _ = model.set_params(alpha=[0.1, 3.0]).fit(X, Y).effective_dimension_


def test_a_model_made_from_another_has_no_variance_and_says_so(sample):
    X, Y, new, _ = sample
    model = mc.compress(
        KernelRidge(0.1, kernel=mc.Gaussian(0.3)).fit(X, Y), X, Y, n_vectors=5, random_state=0
    )
    for refused in (
        lambda: model.variance(new),
        lambda: model.loo_residuals_,
        lambda: model.posterior_,
    ):
        with pytest.raises(
            AttributeError,
            match="need a model that was fitted; this KernelRidge was made from another",
        ):
            refused()


def test_mean_and_variance_are_those_of_a_gaussian_process(sample):
    X, Y, new, _ = sample
    process = GaussianProcessRegressor(RBF(1 / np.sqrt(0.6)), alpha=0.1, optimizer=None).fit(
        X, Y[:, 0]
    )
    mean, deviation = process.predict(new, return_std=True)
    ours = KernelRidge(0.1, kernel=mc.Gaussian(0.3)).fit(X, Y[:, 0])
    np.testing.assert_allclose(ours.predict(new), mean, atol=1e-10)
    np.testing.assert_allclose(ours.variance(new), deviation**2, atol=1e-10)


@pytest.mark.parametrize("landmarks", [None, 50])
def test_covariances_are_those_of_a_gaussian_process_and_of_its_draws(sample, landmarks):
    X, Y, new, _ = sample
    process = GaussianProcessRegressor(RBF(1 / np.sqrt(0.6)), alpha=0.1, optimizer=None).fit(X, Y)
    mean, expected = process.predict(new, return_cov=True)
    ours = KernelRidge(0.1, kernel=mc.Gaussian(0.3), landmarks=landmarks).fit(X, Y)
    values, covariance = ours.predict(new, return_cov=True)
    np.testing.assert_allclose(values, mean, atol=1e-10)
    np.testing.assert_allclose(covariance, expected[..., 0], atol=1e-9)
    drawn = ours.sample_y(new, 4000, random_state=1)
    assert drawn.shape == (20, 2, 4000) == process.sample_y(new, 4000).shape
    for j in range(2):
        # five standard errors of a mean and of a product of normal numbers
        error = 5 / np.sqrt(4000)
        np.testing.assert_allclose(drawn[:, j].mean(axis=1), values[:, j], atol=error)
        np.testing.assert_allclose(np.cov(drawn[:, j]), covariance, atol=1.5 * error)
    single = KernelRidge(0.1, kernel=mc.Gaussian(0.3), landmarks=landmarks).fit(X, Y[:, 0])
    assert single.sample_y(new).shape == (20, 1)
    np.testing.assert_array_equal(single.sample_y(new, 3), single.sample_y(new, 3, random_state=0))


@pytest.mark.parametrize("free", ["constant", "linear"])
def test_covariances_with_free_terms_are_those_of_a_wide_prior_on_them(sample, free):
    X, Y, new, _ = sample
    wide = 1e5 * (Constant(1.0) if free == "constant" else Constant(1.0) + mc.Linear())
    expected = (
        KernelRidge(0.1, kernel=mc.Gaussian(0.3) + wide).fit(X, Y).predict(new, return_cov=True)[1]
    )
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), free=free).fit(X, Y)
    found = model.predict(new, return_cov=True)[1]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(np.diag(found), model.variance(new), atol=1e-10)


def test_covariances_are_refused_where_they_are_not_known_or_large(sample):
    X, Y, new, _ = sample
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), memory="200kB").fit(X, Y)
    with pytest.raises(ValueError, match="return_std and return_cov must not be True together"):
        model.predict(new, return_std=True, return_cov=True)
    with pytest.raises(MemoryError, match="the covariances of 2000 points"):
        model.sample_y(np.tile(new, (100, 1)))
    with pytest.raises(ValueError, match="n_samples = 0 must be at least 1"):
        model.sample_y(new, 0)


def test_weights_are_variances_of_the_noise(sample):
    X, Y, new, weights = sample
    weights = weights + 0.5
    process = GaussianProcessRegressor(
        RBF(1 / np.sqrt(0.6)), alpha=0.1 / weights, optimizer=None
    ).fit(X, Y[:, 0])
    ours = KernelRidge(0.1, kernel=mc.Gaussian(0.3)).fit(X, Y[:, 0], weights)
    np.testing.assert_allclose(
        ours.variance(new), process.predict(new, return_std=True)[1] ** 2, atol=1e-10
    )


def test_the_variance_in_blocks_equals_the_variance_at_once(sample, limits):
    X, Y, new, _ = sample
    model = KernelRidge(0.1, kernel="rbf").fit(X, Y)
    whole = model.variance(new)
    limits(variance_rows=3)
    np.testing.assert_allclose(model.variance(new), whole, atol=1e-13)


@pytest.mark.parametrize("tune", [None, "loo"])
def test_variances_and_residuals_are_those_of_the_targets_and_weights_of_the_fit(sample, tune):
    X, Y, new, _ = sample
    y, weights = Y[:, 0].copy(), np.linspace(1, 2, len(Y))
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), tune=tune).fit(X, y, weights)
    other = clone(model).fit(X, y, weights)
    expected = other.variance(new), other.loo_residuals_
    # they are computed at the first access
    y[:] = 7
    weights[:] = 0.01
    np.testing.assert_array_equal(model.variance(new), expected[0])
    np.testing.assert_array_equal(model.loo_residuals_, expected[1])


def test_leave_one_out_residuals_are_those_of_cross_validation(sample):
    X, Y, _, _ = sample
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3))
    expected = Y - cross_val_predict(clone(model), X, Y, cv=LeaveOneOut())
    np.testing.assert_allclose(model.fit(X, Y).loo_residuals_, expected, atol=1e-11)


@pytest.mark.parametrize("landmarks", [None, "given"])
def test_weights_are_repetitions(sample, landmarks):
    X, Y, new, weights = sample
    rows = np.repeat(np.arange(50), weights.astype(int))
    model = KernelRidge(0.1, kernel="rbf", landmarks=None if landmarks is None else new)
    weighted, repeated = clone(model).fit(X, Y, weights), clone(model).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), atol=1e-10)
    np.testing.assert_allclose(weighted.variance(new), repeated.variance(new), atol=1e-8)


def test_landmarks_approximate_the_prediction_and_its_variance(sample):
    X, Y, new, _ = sample
    full = KernelRidge(0.1, kernel=mc.Gaussian(0.02)).fit(X, Y)
    few = KernelRidge(0.1, kernel=mc.Gaussian(0.02), landmarks=30, random_state=0).fit(X, Y)
    assert few.expansion_.shape == (30, 2)
    np.testing.assert_allclose(few.predict(new), full.predict(new), atol=1e-3)
    np.testing.assert_allclose(few.variance(new), full.variance(new), atol=1e-3)
    assert not hasattr(few, "loo_residuals_")


def test_points_of_no_weight_are_no_landmarks(sample):
    X, Y, _, weights = sample
    model = KernelRidge(0.1, kernel="rbf", landmarks=40).fit(X, Y, weights)
    assert {tuple(z) for z in model.expansion_.points}.isdisjoint(
        {tuple(x) for x in X[weights == 0]}
    )


@pytest.mark.parametrize("landmarks", [None, 20])
def test_its_certificate_is_the_residual_of_the_normal_equations(sample, landmarks):
    X, Y, _, weights = sample
    for y in (Y, Y[:, 0]):
        model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), landmarks=landmarks).fit(X, y, weights)
        assert mc.certify(model, X, y, weights).residuals.max() < 1e-8
        assert mc.certify(model, X, y).residuals.min() > 1e-3
        assert mc.certify(model, X, y).residuals.shape == (y.reshape(50, -1).shape[1],)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "memory"), [(999, "60MB"), (1000, "60MB"), (1000, "1GB")])
def test_given_landmarks_are_no_training_points_even_where_they_are_as_many(
    n, memory, dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, Z = (rng.standard_normal((k, 3)).astype(dtype) for k in (n, 1000))
    y = np.sin(X[:, 0])
    kernel = mc.Gaussian(8.0)
    model = KernelRidge(1.0, kernel=kernel, landmarks=Z, memory=memory).fit(X, y)
    size = np.linalg.norm(kernel(Z.astype(float), X.astype(float)) @ y)
    K, A, a = kernel(X.astype(float), Z.astype(float)), kernel(Z.astype(float)), model.dual_coef_
    expected = np.linalg.norm(K.T @ (y - K @ a) - A @ a) / size
    tolerance = 1e-3 if dtype == np.float32 else 1e-5
    assert mc.certify(model, X, y).residuals[0] == pytest.approx(expected, abs=tolerance)
    assert expected < tolerance


@pytest.mark.parametrize("weighted", [False, True])
def test_a_saddle_point_is_said_to_be_one(sample, weighted):
    X, Y, _, weights = sample
    w, y, kernel = weights if weighted else np.ones(50), Y[:, 0], mc.Sigmoid(0.5, -0.5)
    K = kernel(X)
    values, vectors = np.linalg.eigh(np.sqrt(w)[:, None] * K * np.sqrt(w))
    alpha = -2 * values[0]

    def objective(a):
        return w @ (y - K @ a) ** 2 + alpha * a @ K @ a

    with pytest.warns(
        UserWarning,
        match="KernelRidge solved a problem that is not convex: the kernel matrix .*make_p",
    ):
        model = KernelRidge(alpha, kernel=kernel).fit(X, y, w)
    a, step = model.dual_coef_, 1e-3 * np.sqrt(w) * vectors[:, 0]
    assert objective(a + step) < objective(a) < objective(a + 1e-3 * np.sqrt(w) * vectors[:, -1])
    found = mc.certify(model, X, y, w)
    assert not found.convex
    assert found.residuals.max() < 1e-10
    assert "convex=False: a stationary point, no gap" in repr(found)


@pytest.mark.parametrize(
    "options", [{"alpha": 0.0}, {"alpha": 0.1, "landmarks": 5}, {"alpha": 0.1, "kernel": "rbf"}]
)
def test_problems_over_positive_eigenvalues_are_convex(sample, options):
    X, Y, _, _ = sample
    kernel = mc.FunctionKernel(lambda A, B: np.abs(A) @ np.abs(B).T - 0.2 * A[:, :1] @ B[:, :1].T)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*negative (ones|eigenvalues) are not used")
        model = KernelRidge(**({"kernel": kernel} | options)).fit(X, Y)
        assert mc.certify(model, X, Y).convex


def test_a_linear_kernel_is_linear_ridge_regression(sample):
    X, Y, new, _ = sample
    theirs = Ridge(0.7, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(
        KernelRidge(0.7).fit(X, Y).predict(new), theirs.predict(new), atol=1e-12
    )


def test_without_a_ridge_repeated_rows_give_a_finite_answer(sample):
    X, Y, _, _ = sample
    twice, targets = np.repeat(X[:10], 2, axis=0), np.repeat(Y[:10], 2, axis=0)
    for alpha in (0.0, 1e-18, 1e-3):
        model = KernelRidge(alpha, kernel=mc.Gaussian(1.0)).fit(twice, targets)
        np.testing.assert_allclose(model.predict(X[:10]), Y[:10], atol=1e-6 + 10 * alpha)


def test_precomputed_rows_give_the_predictions_of_the_points(sample):
    X, Y, new, weights = sample
    kernel = mc.Gaussian(0.3)
    for landmarks in (None, 20):
        direct = KernelRidge(0.1, kernel=kernel, landmarks=landmarks).fit(X, Y, weights)
        given = KernelRidge(0.1, kernel="precomputed", landmarks=landmarks).fit(
            kernel(X), Y, weights
        )
        np.testing.assert_allclose(given.predict(kernel(new, X)), direct.predict(new), atol=1e-10)
        np.testing.assert_allclose(given.variance(kernel(new, X)), direct.variance(new), atol=1e-10)


def test_sparse_rows_give_the_predictions_of_dense_ones(sample):
    X, Y, new, _ = sample
    X, new = np.where(X > 0, X, 0.0), np.where(new > 0, new, 0.0)
    for kernel in ("linear", "poly", mc.Gaussian(0.3)):
        for landmarks in (None, 20):
            model = KernelRidge(0.1, kernel=kernel, landmarks=landmarks)
            dense, sparse = clone(model).fit(X, Y), clone(model).fit(sp.csr_array(X), Y)
            np.testing.assert_allclose(
                sparse.predict(sp.csr_array(new)), dense.predict(new), atol=1e-8
            )
            np.testing.assert_allclose(
                sparse.variance(sp.csr_array(new)), dense.variance(new), atol=1e-8
            )


def test_a_list_of_strings_has_predictions_and_variances():
    words = ["kernel", "kernels", "colonel", "margin", "margins", "merging"]

    def shared_letters(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    model = KernelRidge(1e-3, kernel=shared_letters).fit(words, [len(word) for word in words])
    assert model.predict(["kernels"]).shape == model.variance(["kernels"]).shape == (1,)
    assert model.variance(["kernels"])[0] < model.variance(["fuzzy"])[0]


def test_float32_stays_float32_and_agrees_with_float64(sample):
    X, Y, new, _ = sample
    for landmarks in (None, 20):
        model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), landmarks=landmarks)
        wide, narrow = (
            clone(model).fit(X, Y),
            clone(model).fit(X.astype(np.float32), Y.astype(np.float32)),
        )
        predicted = narrow.predict(new.astype(np.float32))
        assert (
            predicted.dtype
            == narrow.dual_coef_.dtype
            == narrow.variance(new.astype(np.float32)).dtype
            == np.float32
        )
        np.testing.assert_allclose(predicted, wide.predict(new), atol=2e-3)


def test_a_second_fit_replaces_the_posterior_of_the_first(sample):
    X, Y, new, _ = sample
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3)).fit(X, Y)
    first = model.variance(new)
    model.set_params(alpha=5.0)
    np.testing.assert_array_equal(model.variance(new), first)
    assert (model.fit(X, Y).variance(new) > first).all()
    model.set_params(landmarks=10).fit(X, Y)
    assert len(model.posterior_) <= 10


def test_grid_search_finds_ridge_and_bandwidth(sample):
    X, Y, _, _ = sample
    grid = {"alpha": [1e-2, 1.0], "kernel__gamma": [0.1, 1.0]}
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3).fit(X, Y)
    theirs = GridSearchCV(
        Reference(kernel="rbf"), {"alpha": [1e-2, 1.0], "gamma": [0.1, 1.0]}, cv=3
    ).fit(X, Y)
    assert search.best_score_ == pytest.approx(theirs.best_score_, abs=1e-10)


def test_a_posterior_beyond_the_memory_limit_is_refused_when_it_is_used(sample):
    X, Y, new, _ = sample
    small = KernelRidge(0.1, kernel="rbf", memory="10kB").fit(X, Y)
    np.testing.assert_allclose(
        small.predict(new), KernelRidge(0.1, kernel="rbf").fit(X, Y).predict(new), atol=1e-6
    )
    with pytest.raises(MemoryError, match=r"posterior of 50 points needs .* use landmarks="):
        small.variance(new)


def test_points_without_a_variance_leave_the_model_unchanged(sample):
    X, Y, new, _ = sample
    model = KernelRidge(kernel="rbf").fit(X, Y)
    before = set(vars(model))
    with pytest.raises(ValueError, match="overflow"):
        model.variance(1e154 + 0 * new)
    assert set(vars(model)) == before
    first, posterior = model.variance(new), model.posterior_
    np.testing.assert_allclose(first, 1 - np.sum(posterior(new) ** 2, axis=1), atol=1e-12)
    assert model.posterior_ is posterior


def test_an_unfitted_model_raises_not_fitted_error(sample):
    X = sample[0]
    for method in (KernelRidge().predict, KernelRidge().variance):
        with pytest.raises(NotFittedError):
            method(X)
    assert not hasattr(KernelRidge(), "posterior_")


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"alpha": -1.0}, ValueError, "alpha = -1.0 must be at least 0"),
        ({"alpha": None}, TypeError, "alpha must be a number"),
        (
            {"alpha": [1.0, 2.0, 3.0]},
            ValueError,
            "has 3 values for 2 targets; give a number, or a number for each",
        ),
        ({"alpha": [1.0, -2.0]}, ValueError, "alpha = -2.0 must be at least 0"),
        ({"alpha": [1.0, np.inf]}, ValueError, "alpha = inf must be finite"),
        (
            {"alpha": [[1.0, 2.0]]},
            TypeError,
            "must be a number, or an array of one number for each target",
        ),
        (
            {"alpha": ["a", "b"]},
            TypeError,
            "must be a number, or an array of one number for each target",
        ),
        ({"alpha": [1.0, 2.0], "tune": "loo"}, TypeError, "alpha must be a number"),
        ({"landmarks": 0}, ValueError, "landmarks = 0 must be at least 1"),
        ({"landmarks": "many"}, TypeError, "landmarks must be a whole number"),
        ({"kernel": "rfb"}, ValueError, "'rfb' must be one of"),
        ({"memory": "lots"}, ValueError, "memory"),
        ({"kernel": mc.Sigmoid(4.0), "alpha": 1e-3}, ValueError, "indefinite"),
    ],
)
def test_bad_parameters_are_named(sample, parameters, error, message):
    X, Y, _, _ = sample
    with pytest.raises(error, match=message):
        KernelRidge(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(50), "at least 0"),
        (np.zeros(50), "not all be zero"),
        (np.ones(49), r"shape \(50,\)"),
    ],
)
def test_bad_weights_are_refused(sample, weights, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge().fit(sample[0], sample[1], weights)


@pytest.mark.parametrize("tune", ["loo", "marginal_likelihood"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tuned_models_predict_better_from_a_bad_start_and_certify(tune, dtype, global_random_seed):
    draw = np.random.default_rng(global_random_seed)
    points = draw.uniform(-3, 3, (200, 2)).astype(dtype)
    targets = (np.sin(2 * points[:, 0]) + 0.1 * draw.normal(size=200)).astype(dtype)
    start = mc.Mapped(mc.Gaussian(20.0), np.ones(2))
    plain = KernelRidge(1.0, kernel=start).fit(points[:100], targets[:100])
    tuned = KernelRidge(1.0, kernel=start, tune=tune).fit(points[:100], targets[:100])
    assert tuned.score(points[100:], targets[100:]) > 0.9 > plain.score(points[100:], targets[100:])
    # the fit is that of the tuned numbers
    again = KernelRidge(tuned.alpha_, kernel=tuned.kernel_).fit(points[:100], targets[:100])
    np.testing.assert_array_equal(again.predict(points), tuned.predict(points))
    # coefficients that are rounded to dtype leave a residual in proportion to their size
    size = (
        np.linalg.norm(tuned.kernel_(points[:100]))
        * np.linalg.norm(tuned.dual_coef_)
        / np.linalg.norm(targets[:100])
    )
    assert (
        mc.certify(tuned, points[:100], targets[:100]).residuals.max() < np.finfo(dtype).eps * size
    )
    assert tuned.kernel is start


def test_the_standard_deviation_is_that_of_a_gaussian_process(sample):
    X, Y, _, _ = sample
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3)).fit(X, Y[:, 0])
    theirs = GaussianProcessRegressor(RBF(np.sqrt(1 / 0.6)), alpha=0.1, optimizer=None).fit(
        X, Y[:, 0]
    )
    new = X[:7] + 0.3
    values, deviations = model.predict(new, return_std=True)
    expected, their_deviations = theirs.predict(new, return_std=True)
    np.testing.assert_allclose(values, expected, atol=1e-10)
    np.testing.assert_allclose(deviations, their_deviations, atol=1e-8)


def test_tuning_refuses_landmarks_and_other_names(sample):
    X, Y, _, _ = sample
    with pytest.raises(ValueError, match="landmarks = 5 must be None with tune"):
        KernelRidge(0.1, kernel="rbf", tune="loo", landmarks=5).fit(X, Y)
    with pytest.raises(ValueError, match="tune = 'gcv' must be one of"):
        KernelRidge(0.1, kernel="rbf", tune="gcv").fit(X, Y)


def test_a_tuned_model_survives_its_file(sample, tmp_path):
    X, Y, _, _ = sample
    model = KernelRidge(0.1, kernel="rbf", tune="marginal_likelihood").fit(X, Y)
    mc.save(model, tmp_path / "model")
    read = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    assert (read.alpha_, read.kernel_, read.tune) == (
        model.alpha_,
        model.kernel_,
        "marginal_likelihood",
    )
    np.testing.assert_array_equal(read.variance(X[:3]), model.variance(X[:3]))


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 30)])
def test_a_slope_that_the_rounding_of_an_offset_hides_is_warned_of(weights):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 3)) + 1e7
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(30)
    with pytest.warns(
        ConvergenceWarning, match="hides differences of the vectors.*subtract their mean"
    ):
        model = KernelRidge(0.1, kernel="linear").fit(X, y, sample_weight=weights)
    root = np.sqrt(np.ones(30) if weights is None else weights)
    stacked = np.vstack([root[:, None] * X, 0.1**0.5 * np.eye(3)])
    exact = X @ np.linalg.lstsq(stacked, np.append(root * y, np.zeros(3)))[0]
    # the answer is wrong, and says so
    assert np.abs(model.predict(X) - exact).max() > 0.1 * np.abs(exact).max()


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 1e5, 1e6, 1e8])
@pytest.mark.parametrize("memory", ["1GB", "steps"])
def test_over_landmarks_far_from_the_origin_the_prediction_is_right_or_warned_of(
    offset, memory, limits
):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3)) + offset
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(60)
    if memory == "steps":
        # the direct solution takes more
        limits(landmark_values=1)
        memory = landmark_ridge.stored_bytes(20)
        assert memory < ridge.restricted_bytes(20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelRidge(0.1, kernel="linear", landmarks=X[:20], memory=memory).fit(X, y)
    exact = X @ np.linalg.lstsq(np.vstack([X, 0.1**0.5 * np.eye(3)]), np.append(y, np.zeros(3)))[0]
    wrong = np.abs(model.predict(X) - exact).max() > 1e-4 * np.abs(exact).max()
    warned = any("subtract their mean" in str(each.message) for each in caught)
    assert warned >= wrong
    # neither is there near the origin
    assert not warned or offset >= 1e5


@pytest.mark.parametrize("landmarks", [None, 20])
def test_a_ridge_that_the_rounding_of_an_offset_hides_is_warned_of(landmarks):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(60)
    kernel = mc.Polynomial(2, 1 / 3, 1.0)
    near = KernelRidge(0.1, kernel=kernel, landmarks=landmarks, random_state=0).fit(X, y).predict(X)
    with pytest.warns(
        ConvergenceWarning, match=r"hides a ridge of 0.1 and all directions.*; a share of 0\.0"
    ):
        far = (
            KernelRidge(0.1, kernel=kernel, landmarks=landmarks, random_state=0)
            .fit(X + 1e4, y)
            .predict(X + 1e4)
        )
    # the products of features are lost
    assert np.abs(far - near).max() > 0.01


def _thin_plate(X, Z):
    s = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    return s * np.log(np.where(s > 0, s, 1)) / 2


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 10.0])
def test_thin_plate_splines_are_those_of_scipy(sample, alpha):
    X, Y, new, _ = sample
    model = KernelRidge(alpha, kernel=mc.FunctionKernel(_thin_plate), free="linear").fit(
        X[:, :2], Y
    )
    options = {"kernel": "thin_plate_spline", "degree": 1, "smoothing": alpha}
    expected = RBFInterpolator(X[:, :2], Y, **options)(new[:, :2])
    np.testing.assert_allclose(
        model.predict(new[:, :2]), expected, atol=1e-8 * np.abs(expected).max(), rtol=0
    )
    proof = mc.certify(model, X[:, :2], Y)
    assert proof.convex
    assert proof.residuals.max() < 1e-10


def _both(X):
    return np.column_stack([np.ones(len(X)), np.sin(X[:, 0])])


FREE = {
    "constant": lambda X: np.ones((len(X), 1)),
    "linear": lambda X: np.insert(X, 0, 1, axis=1),
    _both: _both,
}


@pytest.mark.parametrize("unit", [1e-20, 1e20])
def test_units_of_columns_decide_nothing_about_free_terms(sample, unit):
    X, Y, new, weights = sample
    units = np.where(np.arange(X.shape[1]) == 0, unit, 1.0)

    def fitted(X, kernel, free):
        return KernelRidge(0.1, kernel=kernel, free=free).fit(X, Y, weights)

    model = fitted(X, mc.Gaussian(0.3), "linear")
    expected = model.predict(new, return_std=True)
    for same in (
        fitted(X * units, mc.Mapped(mc.Gaussian(0.3), 1 / units), "linear"),
        fitted(
            X * units, mc.Mapped(mc.Gaussian(0.3), 1 / units), lambda X: np.c_[np.ones(len(X)), X]
        ),
    ):
        for found, each in zip(same.predict(new * units, return_std=True), expected, strict=True):
            np.testing.assert_allclose(found, each, rtol=1e-9)
        assert same.effective_dimension_ == pytest.approx(model.effective_dimension_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("free", FREE)
@pytest.mark.parametrize("memory", ["1GB", "1kB"])
def test_free_terms_solve_the_bordered_system(sample, free, dtype, memory):
    X, Y, new, weights = sample
    X, Y, new = X.astype(dtype), Y.astype(dtype), new.astype(dtype)
    kernel = mc.Gaussian(0.3)
    model = KernelRidge(0.1, kernel=kernel, free=free, memory=memory).fit(X, Y, weights)
    kept = weights > 0
    P = FREE[free](X[kept].astype(float))
    q = P.shape[1]
    K = kernel(X[kept].astype(float)) + np.diag(0.1 / weights[kept])
    solution = np.linalg.solve(
        np.block([[K, P], [P.T, np.zeros((q, q))]]), np.vstack([Y[kept], np.zeros((q, 2))])
    )
    expected = (
        np.hstack([kernel(new.astype(float), X[kept].astype(float)), FREE[free](new.astype(float))])
        @ solution
    )
    tolerance = (
        1e3 * np.finfo(dtype).eps
        if memory == "1GB"
        else {np.float32: 1e-3, np.float64: 1e-7}[dtype]
    )
    np.testing.assert_allclose(model.predict(new), expected, atol=tolerance)
    assert model.predict(new).dtype == dtype
    assert mc.certify(model, X, Y, weights).residuals.max() < tolerance
    model.free_coef_ = model.free_coef_ + dtype(0.1)
    model.intercept_ = model.intercept_ + dtype(0.1)
    assert mc.certify(model, X, Y, weights).residuals.max() > 1e-2


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_free_terms_that_leave_the_kernel_nothing_are_fitted_by_conjugate_gradients_too(unit):
    X = unit * np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 0] / unit + (X[:, 1] / unit) ** 2
    model = KernelRidge(1.0, kernel="linear", free="linear", memory="20KB").fit(X, y)
    line = np.column_stack([np.ones(60), X / unit])
    expected = line @ np.linalg.lstsq(line, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-7)


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.3), mc.FunctionKernel(_thin_plate)], ids=["gaussian", "thin plate"]
)
def test_leave_one_out_residuals_and_degrees_of_freedom_include_free_terms(sample, kernel):
    X, Y, _, _ = sample
    model = KernelRidge(0.2, kernel=kernel, free="linear").fit(X, Y)
    expected = Y - cross_val_predict(clone(model), X, Y, cv=LeaveOneOut())
    np.testing.assert_allclose(model.loo_residuals_, expected, atol=1e-9)
    path = model.leave_one_out([5.0, 0.2])
    np.testing.assert_allclose(path[1], expected, atol=1e-9)
    np.testing.assert_allclose(path[0], clone(model).set_params(alpha=5.0).fit(X, Y).loo_residuals_)
    # the trace of the matrix that maps targets to predictions
    smoother = clone(model).fit(X, np.eye(len(X))).predict(X)
    assert model.effective_dimension_ == pytest.approx(np.trace(smoother), rel=1e-9)


@pytest.mark.parametrize("free", ["linear", "array"])
def test_a_fit_without_free_terms_knows_nothing_of_those_of_an_earlier_fit(sample, free):
    X, Y, new, _ = sample
    model = KernelRidge(0.2, kernel=mc.Gaussian(0.3), free=_both(X) if free == "array" else free)
    model.fit(X, Y).set_params(free=None).fit(X, Y)
    alone = KernelRidge(0.2, kernel=mc.Gaussian(0.3)).fit(X, Y)
    np.testing.assert_array_equal(model.variance(new), alone.variance(new))
    np.testing.assert_array_equal(model.loo_residuals_, alone.loo_residuals_)
    np.testing.assert_array_equal(model.predict_interval(new), alone.predict_interval(new))
    assert model.effective_dimension_ == alone.effective_dimension_


def test_leave_one_out_residuals_for_several_alphas_know_weights_and_free_terms(sample):
    X, Y, _, weights = sample
    model = KernelRidge(0.2, kernel=mc.Gaussian(0.3), free=_both(X)).fit(X, Y, weights)
    rows = np.flatnonzero(weights)[::3]
    expected = model.loo_residuals_[rows]
    np.testing.assert_allclose(model.leave_one_out([0.2], rows)[0], expected, atol=1e-9)


def test_leave_one_out_residuals_with_free_terms_are_exact_for_rows_in_float32(sample):
    X = (100 * sample[0]).astype(np.float32)
    model = KernelRidge(10.0, kernel=mc.kernels.ThinPlate(), free="linear")
    found = clone(model).fit(X, sample[1]).leave_one_out([10.0, 1e3])
    expected = model.fit(X.astype(float), sample[1]).leave_one_out([10.0, 1e3])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_free_terms_take_no_kernel_values_of_their_own_in_leave_one_out_residuals(sample):
    X, Y, _, _ = sample
    sizes = []

    def counted(A, B):
        sizes.append(len(A) * len(B))
        return mc.Gaussian(0.3)(A, B)

    taken = []
    for free in (None, "linear"):
        model = KernelRidge(0.2, kernel=mc.FunctionKernel(counted), free=free).fit(X, Y)
        sizes.clear()
        model.leave_one_out([0.2])
        taken.append(sum(sizes))
    assert taken[0] == taken[1] > 0


def test_residuals_that_are_rounding_are_refused_where_the_trace_is_zero(sample):
    X = sample[0]
    X = np.vstack([X, X[:1] + 1e-9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelRidge(1e-16, kernel=mc.kernels.ThinPlate(), free="linear")
        model.fit(X, X[:, 0] * X[:, 1])
        with pytest.raises(ValueError, match="leave-one-out residuals have a relative error"):
            _ = model.loo_residuals_
    with pytest.raises(ValueError, match="leave-one-out residuals have a relative error"):
        model.leave_one_out([1e-16])


def test_a_point_that_alone_determines_a_free_term_cannot_be_left_out(sample):
    X, Y, _, _ = sample
    free = np.eye(len(X))[:, [7]]
    model = KernelRidge(0.2, kernel=mc.Gaussian(0.3), free=free).fit(X, Y)
    for residuals in (
        lambda: model.loo_residuals_,
        lambda: model.leave_one_out([0.1, 1.0]),
        lambda: model.predict_interval(X),
    ):
        with pytest.raises(ValueError, match="point 7 cannot be left out, as no other points"):
            residuals()


@pytest.mark.parametrize("free", ["constant", "linear"])
def test_files_and_exports_keep_free_terms_or_are_refused(sample, tmp_path, free):
    X, Y, new, _ = sample
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), free=free).fit(X, Y)
    mc.save(model, tmp_path / "model.mercer")
    again = mc.load(tmp_path / "model.mercer")
    # what the parameter says later does not change a fitted model
    again.set_params(free=None)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_allclose(again.loo_residuals_, model.loo_residuals_, rtol=1e-12)
    if free == "linear":
        for write in (mc.as_expansion, lambda m: mc.compress(m, n_vectors=9)):
            with pytest.raises(TypeError, match="free terms of the rows"):
                write(model)
    else:
        exported = mc.as_expansion(model)
        np.testing.assert_allclose(exported.expansion(new) + exported.intercept, model.predict(new))


def test_free_terms_that_cannot_be_used_are_refused(sample):
    X, Y, new, _ = sample
    for options in ({"landmarks": 5}, {"tune": "loo"}):
        with pytest.raises(ValueError, match="free needs all training points"):
            KernelRidge(kernel="rbf", free="linear", **options).fit(X, Y)
    for bad in ("quadratic", np.ones(50), 3):
        with pytest.raises(
            TypeError,
            match="free = .* must be None, 'constant', 'linear', a function of the rows, or",
        ):
            KernelRidge(free=bad).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"free\(X\) has shape .*; it must have the shape \(n, q\) for n = 50"
    ):
        KernelRidge(free=lambda X: X[0]).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"free has shape \(49, 1\); it must have the shape \(n, q\) for n = 50"
    ):
        KernelRidge(free=np.ones((49, 1))).fit(X, Y)
    with pytest.raises(ValueError, match="needs rows, not kernel values"):
        KernelRidge(kernel="precomputed", free="linear").fit(X @ X.T, Y)
    model = KernelRidge(free=X[:, :1]).fit(X, Y)
    for call in (model.predict, model.variance, model.predict_interval):
        with pytest.raises(
            ValueError, match="which are not known at other points; give a function of the rows"
        ):
            call(new)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("free", FREE)
def test_variances_with_free_terms_are_those_of_a_flat_prior(sample, free, weighted, dtype):
    X, Y, new, weights = sample
    weights = weights if weighted else np.ones(len(X))
    X, Y, new = (array.astype(dtype).astype(float) for array in (X, Y, new))
    kernel = mc.Gaussian(0.3)
    model = KernelRidge(0.1, kernel=kernel, free=free).fit(
        X.astype(dtype), Y.astype(dtype), weights
    )
    kept = weights > 0
    P = FREE[free](X[kept])
    system = np.block(
        [
            [kernel(X[kept]) + np.diag(0.1 / weights[kept]), P],
            [P.T, np.zeros((P.shape[1], P.shape[1]))],
        ]
    )
    sides = np.hstack([kernel(new, X[kept]), FREE[free](new)])
    expected = kernel.diag(new) - np.einsum("ij,ji->i", sides, np.linalg.solve(system, sides.T))
    tolerance = 1e4 * np.finfo(dtype).eps
    np.testing.assert_allclose(model.variance(new.astype(dtype)), expected, atol=tolerance)
    np.testing.assert_allclose(
        model.predict(new, return_std=True)[1], np.sqrt(expected), atol=np.sqrt(tolerance)
    )
    # points of weight 0 have the residuals of new points
    residuals = Y - model.predict(X.astype(dtype))
    np.testing.assert_allclose(model.loo_residuals_[~kept], residuals[~kept], atol=tolerance)


@pytest.mark.parametrize("free", FREE)
def test_jackknife_intervals_with_free_terms_are_those_of_all_refits(sample, free):
    X, Y, new, _ = sample
    n = len(X)
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), free=free).fit(X, Y)
    ends = []
    for left in range(n):
        rest = np.delete(np.arange(n), left)
        again = clone(model).fit(X[rest], Y[rest])
        radius = np.abs(Y[left] - again.predict(X[[left]])[0])
        ends.append([again.predict(new) - radius, again.predict(new) + radius])
    low, high = np.sort(np.array(ends), axis=0).transpose(1, 0, 2, 3)
    k = int(round(0.2 * (n + 1), 9))
    found = model.predict_interval(new, 0.8, "jackknife+")
    np.testing.assert_allclose(found[:, 0], low[k - 1], atol=1e-9)
    np.testing.assert_allclose(found[:, 1], high[n - k], atol=1e-9)


def test_conformal_intervals_with_free_terms_hold_the_targets_whose_refit_residual_is_not_among_the_largest(
    sample,
):
    X, Y, new, _ = sample
    n = len(X)
    x = new[:1]
    y = Y[:, 0]
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), free="linear").fit(X, y)
    low, high = model.predict_interval(x, 0.8)[0]
    outside = int(round(0.2 * (n + 1), 9))

    def is_kept(target):
        again = clone(model).fit(np.vstack([X, x]), np.append(y, target))
        residuals = np.abs(again.loo_residuals_)
        return np.sum(residuals >= residuals[-1]) > outside

    step = 1e-6 * (high - low)
    assert [is_kept(end) for end in (low + step, high - step)] == [True, True]
    assert [is_kept(end) for end in (low - step, high + step)] == [False, False]


def test_an_array_of_free_terms_is_that_of_a_function_at_the_training_points(sample, tmp_path):
    X, Y, new, weights = sample
    model = KernelRidge(0.1, kernel=mc.Gaussian(0.3), free=_both(X)).fit(X, Y, weights)
    function = KernelRidge(0.1, kernel=mc.Gaussian(0.3), free=_both).fit(X, Y, weights)
    np.testing.assert_allclose(
        model.expansion_(new) + _both(new) @ model.free_coef_, function.predict(new)
    )
    np.testing.assert_allclose(model.loo_residuals_, function.loo_residuals_)
    assert mc.certify(model, X, Y, weights).residuals.max() < 1e-10
    with pytest.raises(ValueError, match="not known at other points"):
        mc.save(model, tmp_path / "model.mercer")


@pytest.mark.parametrize("free", ["linear", lambda X: X[:, :1] ** 2])
def test_free_terms_of_rows_with_marks_are_those_of_the_rows(free, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(5, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    kernels = mc.Gaussian(0.7), mc.Laplacian(0.4)
    whole, blocks = (
        mc.KernelRidge(0.1, kernel=mc.DirectSum(*kernels, n_features=d), free=free).fit(X, y)
        for d in (None, 2)
    )
    np.testing.assert_allclose(blocks.predict(Z), whole.predict(Z), rtol=1e-10)
    np.testing.assert_allclose(blocks.variance(Z), whole.variance(Z), rtol=1e-8)
    np.testing.assert_allclose(blocks.free_coef_, whole.free_coef_, rtol=1e-8)
    assert mc.certify(blocks, X, y).residuals.max() < 1e-10
