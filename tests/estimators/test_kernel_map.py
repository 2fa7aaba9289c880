"""KernelMap: linear methods on coordinates are kernel methods, pre-images, and the checks of scikit-learn."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators import KernelMap

SETTINGS = [
    KernelMap(),
    KernelMap("linear", centre=False),
    KernelMap(mc.Matern(length="median"), tol=1e-6),
    KernelMap(mc.Gaussian("scale"), landmarks=5, random_state=0),
    KernelMap("poly", landmarks=6, rule="k_means", centre=False, preimage="gradient"),
    KernelMap("rbf", landmarks=4, rule="greedy", memory="100MB"),
]


def drawn(estimator):
    """Return the checks that compare weights with repetitions, among which other landmarks are drawn."""
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(
        checks if isinstance(estimator.landmarks, int) else [],
        "landmarks are drawn from other rows",
    )


@parametrize_with_checks(SETTINGS, expected_failed_checks=drawn)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((60, 4))


def distances(Y, Z):
    """Return squared distances between rows."""
    return np.sum((Y[:, None] - Z[None]) ** 2, axis=2)


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Polynomial(3, 0.3, 1.0), mc.Linear()])
def test_kernel_pca_is_pca_on_the_coordinates(points, kernel):
    to_coordinates = KernelMap(kernel).fit(points)
    pca = PCA(4).fit(to_coordinates.transform(points))
    new = points[:20] + 0.3
    scores, expected = (
        pca.transform(to_coordinates.transform(new)),
        mc.KernelPCA(4, kernel=kernel).fit(points),
    )
    np.testing.assert_allclose(pca.explained_variance_ * 59, expected.eigenvalues_, rtol=1e-10)
    expected = expected.transform(new)
    scores = scores * np.sign(np.sum(scores * expected, axis=0))
    np.testing.assert_allclose(scores, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("centre", [True, False])
def test_with_the_residual_distances_are_those_of_feature_space(points, centre):
    kernel = mc.Gaussian(0.5)
    to_coordinates = KernelMap(kernel, centre=centre).fit(points)
    new = np.vstack([points[:10] + 0.4, 10 + points[:3]])
    ours = distances(to_coordinates.transform(new), to_coordinates.transform(points))
    ours += to_coordinates.residual(new)[:, None] ** 2
    np.testing.assert_allclose(
        ours, mc.sqdist(mc.features(kernel, new), mc.features(kernel, points)), atol=1e-10
    )
    assert to_coordinates.residual(points).max() < 1e-6


def test_the_residual_over_landmarks_is_the_distance_to_the_projection(points):
    kernel = mc.Gaussian(0.3)
    to_coordinates = KernelMap(kernel, landmarks=15, random_state=0).fit(points)
    phi, record = mc.features(kernel, points), to_coordinates.coordinates_
    projections = record.vectors(to_coordinates.transform(points))
    np.testing.assert_allclose(
        to_coordinates.residual(points) ** 2, mc.sqdist(phi, projections, paired=True), atol=1e-9
    )
    expected = mc.sqdist(
        phi, mc.project(phi, mc.features(kernel, to_coordinates.expansion_.points)), paired=True
    )
    np.testing.assert_allclose(to_coordinates.residual(points) ** 2, expected, atol=1e-9)


def test_dot_products_of_coordinates_are_centred_kernel_values(points):
    kernel = mc.Gaussian(0.3)
    Y = KernelMap(kernel).fit_transform(points)
    H = np.eye(60) - 1 / 60
    np.testing.assert_allclose(Y @ Y.T, H @ kernel(points) @ H, atol=1e-12)
    np.testing.assert_allclose(Y.T @ Y, np.diag(np.sum(Y**2, axis=0)), atol=1e-8)
    plain = KernelMap(kernel, centre=False).fit_transform(points)
    np.testing.assert_allclose(plain @ plain.T, kernel(points), atol=1e-12)


def test_ridge_on_coordinates_is_kernel_ridge(points):
    kernel, y = mc.Gaussian(0.3), np.sin(points[:, 0])
    to_coordinates = KernelMap(kernel, centre=False).fit(points)
    linear = Ridge(0.1, fit_intercept=False).fit(to_coordinates.transform(points), y)
    psi = to_coordinates.to_expansion(linear.coef_)
    expected = mc.lstsq(mc.features(kernel, points), y, 0.1)
    np.testing.assert_allclose(psi(points + 0.2), expected(points + 0.2), atol=1e-10)


def test_weights_of_linear_models_are_vectors_of_feature_space(points):
    to_coordinates = KernelMap(mc.Gaussian(0.3), landmarks=20).fit(points)
    coef = np.random.default_rng(0).standard_normal((3, to_coordinates.n_components_))
    psi = to_coordinates.to_expansion(coef)
    new = points[:9] + 0.1
    values = psi(new) + coef @ to_coordinates.intercept_
    np.testing.assert_allclose(values, to_coordinates.transform(new) @ coef.T, atol=1e-11)
    with pytest.raises(ValueError, match=r"coef must have shape"):
        to_coordinates.to_expansion(np.ones(3))


@pytest.mark.parametrize("rule", ["randomly_pivoted", "greedy", "leverage", "uniform", "k_means"])
def test_all_points_as_landmarks_give_the_whole_span(points, rule):
    kernel = mc.Gaussian(0.5)
    whole = KernelMap(kernel).fit_transform(points)
    some = KernelMap(kernel, landmarks=60, rule=rule).fit_transform(points)
    np.testing.assert_allclose(distances(some, some), distances(whole, whole), atol=1e-9)
    np.testing.assert_allclose(np.sum(some**2, axis=0)[:5], np.sum(whole**2, axis=0)[:5], rtol=1e-9)
    np.testing.assert_allclose(some.mean(axis=0), 0, atol=1e-10)


def test_given_landmarks_are_used_as_they_are(points):
    mine = points[:10].copy()
    to_coordinates = KernelMap(mc.Gaussian(0.3), landmarks=mine).fit(points)
    before = to_coordinates.transform(points)
    mine[:] = 0
    assert to_coordinates.expansion_.shape == (10, 10)
    assert (to_coordinates.transform(points) == before).all()


def test_memory_is_never_n_by_n_when_landmarks_are_given(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((6000, 3))
    tracemalloc.start()
    try:
        KernelMap(mc.Gaussian(0.3), landmarks=20, memory="1MB").fit(X).transform(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 6000**2 / 10
    with pytest.raises(MemoryError, match="landmarks"):
        KernelMap(mc.Gaussian(0.3), memory="1MB").fit(X)


@pytest.mark.parametrize("centre", [True, False])
def test_batches_give_the_coordinates_of_one_fit(points, centre):
    kernel = mc.Gaussian(0.5)
    growing = KernelMap(kernel, centre=centre)
    for batch in (points[:25], points[25:40], points[40:]):
        growing.partial_fit(batch)
    Y, whole = growing.transform(points), KernelMap(kernel, centre=centre).fit(points)
    expected = whole.transform(points)
    assert growing.n_samples_seen_ == 60
    np.testing.assert_allclose(Y @ Y.T, expected @ expected.T, atol=1e-9)
    new = points[:9] + 0.3
    np.testing.assert_allclose(growing.residual(new), whole.residual(new), atol=1e-7)


def test_later_points_keep_the_earlier_axes(points):
    growing = KernelMap(mc.Gaussian(0.5), centre=False).partial_fit(points[:30])
    before = growing.transform(points[:30])
    after = growing.partial_fit(points[30:]).transform(points[:30])
    r = before.shape[1]
    np.testing.assert_allclose(after[:, :r], before, atol=1e-12)
    np.testing.assert_allclose(after[:, r:], 0, atol=1e-10)
    assert after.shape[1] == 60


def test_points_within_the_span_add_no_axis(points):
    growing = KernelMap(mc.Linear()).partial_fit(points[:30])
    assert growing.n_components_ == growing.partial_fit(points[30:]).n_components_ == 4
    np.testing.assert_allclose(growing.transform(points).mean(axis=0), 0, atol=1e-12)


def test_the_number_of_landmarks_bounds_the_number_of_axes(points):
    growing = KernelMap(mc.Gaussian(0.5), landmarks=30).partial_fit(points[:20, :])
    assert growing.partial_fit(points[20:]).n_components_ == 30
    given = KernelMap(mc.Gaussian(0.5), landmarks=points[:5]).partial_fit(points[:20])
    assert given.partial_fit(points[20:]).n_components_ == 5
    np.testing.assert_allclose(given.transform(points).mean(axis=0), 0, atol=1e-12)


def test_the_inverse_transform_of_the_coordinates_is_the_points(points):
    for settings in ({"kernel": "linear"}, {"kernel": mc.Gaussian(0.3)}):
        to_coordinates = KernelMap(**settings).fit(points)
        np.testing.assert_allclose(
            to_coordinates.inverse_transform(to_coordinates.transform(points)), points, atol=1e-5
        )


def test_a_precomputed_kernel_has_residuals_of_new_points_if_its_diagonal_is_constant(points):
    kernel, new = mc.Gaussian(0.3), points[:7] + 0.2
    given = KernelMap("precomputed", landmarks=np.arange(0, 60, 2)).fit(kernel(points))
    direct = KernelMap(kernel, landmarks=points[::2]).fit(points)
    np.testing.assert_allclose(given.residual(kernel(new, points)), direct.residual(new), atol=1e-7)


def test_a_precomputed_kernel_has_no_preimages_no_residual_and_no_batches(points):
    kernel = mc.Polynomial(2, 0.3, 1.0)
    given = KernelMap("precomputed", landmarks=np.arange(0, 60, 2)).fit(kernel(points))
    direct = KernelMap(kernel, landmarks=points[::2]).fit(points)
    new = points[:7] + 0.2
    np.testing.assert_allclose(
        given.transform(kernel(new, points)), direct.transform(new), atol=1e-9
    )
    methods = "auto", "learned", mc.Learned(noise=lambda X, _: X)
    for method in methods:
        given.preimage = method
        with pytest.raises(TypeError, match="need input points"):
            given.inverse_transform(np.zeros((1, given.n_components_)))
    with pytest.raises(ValueError, match=r"k\(x, x\)"):
        given.residual(kernel(new, points))
    with pytest.raises(TypeError, match="cannot be extended"):
        given.partial_fit(kernel(new, points))


def test_sparse_rows_give_the_coordinates_of_dense_ones(points):
    dense = np.where(points > -1, points, 0.0)
    for rule in ("uniform", "k_means"):
        fitted = [
            KernelMap(mc.Gaussian(0.3), landmarks=9, rule=rule).fit(X)
            for X in (dense, sp.csr_matrix(dense))
        ]
        ours, expected = (
            fitted[1].transform(sp.csr_matrix(dense[:5])),
            fitted[0].transform(dense[:5]),
        )
        np.testing.assert_allclose(ours @ ours.T, expected @ expected.T, atol=1e-9)


def test_a_list_of_strings_has_coordinates():
    words = ["kernel", "kernels", "colonel", "margin", "margins", "merging"]

    def shared_letters(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    Y = KernelMap(shared_letters, centre=False).fit_transform(words)
    np.testing.assert_allclose(Y @ Y.T, shared_letters(words, words), atol=1e-12)
    assert (
        KernelMap(shared_letters, landmarks=3).fit(words).partial_fit(["colonels"]).n_components_
        <= 3
    )
    with pytest.raises(TypeError, match="k_means"):
        KernelMap(shared_letters, landmarks=3, rule="k_means").fit(words)


def test_float32_stays_float32_and_agrees_with_float64(points):
    for settings in ({}, {"landmarks": points[:20]}, {"landmarks": 20, "centre": False}):
        narrow, wide = (
            KernelMap(mc.Gaussian(0.5), **settings).fit(points.astype(t))
            for t in (np.float32, np.float64)
        )
        new = (points[:9] + 0.2).astype(np.float32)
        Y, expected = narrow.transform(new), wide.transform(new.astype(np.float64))
        assert Y.dtype == narrow.residual(new).dtype == np.float32
        np.testing.assert_allclose(Y @ Y.T, expected @ expected.T, atol=1e-4)
        grown = (
            clone(narrow)
            .partial_fit(points[:40].astype(np.float32))
            .partial_fit(points[40:].astype(np.float32))
        )
        assert grown.transform(new).dtype == np.float32


def test_tol_cuts_axes_of_small_variance(points):
    Y = KernelMap(mc.Gaussian(0.1)).fit_transform(points)
    variance = np.sum(Y**2, axis=0)
    cut = KernelMap(mc.Gaussian(0.1), tol=0.01).fit(points)
    assert cut.n_components_ == (variance > 0.01 * variance[0]).sum() < Y.shape[1]
    whole = KernelMap(mc.Gaussian(0.1), tol=0.01, landmarks=points).fit(points)
    assert whole.n_components_ == cut.n_components_


def test_an_indefinite_kernel_is_cut_with_a_warning(points):
    with pytest.warns(UserWarning, match="lambda_min"):
        Y = KernelMap(mc.Sigmoid(4.0)).fit_transform(points)
    K = mc.Sigmoid(4.0)(points)
    K = K - K.mean(axis=0)
    values, U = np.linalg.eigh(K - K.mean(axis=1)[:, None])
    np.testing.assert_allclose(Y @ Y.T, (U * np.maximum(values, 0)) @ U.T, atol=1e-10)


def test_grid_search_reaches_the_kernel_and_the_landmarks(points):
    y = np.sin(points[:, 0])
    search = GridSearchCV(
        make_pipeline(KernelMap(), Ridge()), {"kernelmap__kernel__gamma": [0.1, 1.0], "kernelmap__landmarks": [5, 10]},
        cv=2,
    ).fit(points, y)  # fmt: skip
    assert search.best_estimator_[0].expansion_.shape[0] in (5, 10)


def test_repeated_fits_are_bitwise_equal(points):
    to_coordinates = KernelMap(landmarks=12)
    first = to_coordinates.fit_transform(points)
    assert (clone(to_coordinates).fit_transform(points) == first).all()


def test_an_unfitted_model_raises_not_fitted_error(points):
    for method in (KernelMap().transform, KernelMap().inverse_transform, KernelMap().residual):
        with pytest.raises(NotFittedError):
            method(points)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"landmarks": 0}, ValueError, "landmarks = 0 must be at least 1"),
        ({"landmarks": np.ones((3, 2))}, ValueError, "landmarks have 2 features, but X has 4"),
        ({"landmarks": 3, "rule": "best"}, ValueError, "rule = 'best' must be"),
        ({"rule": "best"}, ValueError, "rule = 'best' must be"),
        ({"tol": -1.0}, ValueError, "tol = -1.0 must be at least 0"),
        ({"tol": 1.0}, ValueError, "tol = 1.0 must be at least 0 and below 1"),
        ({"memory": "lots"}, ValueError, "memory"),
        ({"kernel": "rfb"}, ValueError, "'rfb' must be one of"),
    ],
)
def test_bad_parameters_are_named(points, parameters, error, message):
    with pytest.raises(error, match=message):
        KernelMap(**parameters).fit(points)


@pytest.mark.parametrize("parameters", [{"rule": "best"}, {"tol": -1.0}])
def test_parameters_are_checked_before_the_points(parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} = "):
        KernelMap(**parameters).fit(np.full((3, 2), np.nan))


def test_more_landmarks_than_points_are_all_points(points):
    assert KernelMap(mc.Gaussian(0.5), landmarks=100).fit(points).expansion_.shape[0] == 60


def test_points_without_variance_are_an_error():
    for landmarks in (None, 3):
        with (
            pytest.warns(UserWarning, match="constant|narrower"),
            pytest.raises(ValueError, match="no variance"),
        ):
            KernelMap(landmarks=landmarks).fit(np.ones((10, 3)))


def test_wrong_coordinates_are_refused(points):
    with pytest.raises(ValueError, match=r"\(m, 4\)"):
        KernelMap("linear").fit(points).inverse_transform(np.ones((3, 5)))


def test_a_linear_svm_on_coordinates_has_the_dual_variables_of_the_kernel_svm(global_random_seed):
    """Kwak 2013, section IV: alpha of the SVM in feature space is alpha of the linear SVM on Y."""
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((80, 2))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(80) > 0
    Y = mc.KernelMap(mc.Gaussian(2.0)).fit_transform(X)
    direct = mc.SVC(2.0, kernel=mc.Gaussian(2.0)).fit(X, y)
    mapped = mc.SVC(2.0, kernel="linear").fit(Y, y)
    np.testing.assert_array_equal(mapped.support_, direct.support_)
    np.testing.assert_allclose(mapped.dual_coef_, direct.dual_coef_, atol=1e-10)
    np.testing.assert_allclose(mapped.decision_function(Y), direct.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("landmarks", [None, 20])
@pytest.mark.parametrize("centre", [True, False])
def test_the_certificate_of_an_extended_map_is_that_its_axes_are_orthonormal(
    global_random_seed, centre, landmarks
):
    X = np.random.default_rng(global_random_seed).standard_normal((60, 3))
    model = mc.KernelMap(mc.Gaussian(0.5), centre=centre, landmarks=landmarks, random_state=0).fit(
        X[:15]
    )
    model.partial_fit(X[15:40]).partial_fit(X[40:])
    assert mc.certify(model, X).residuals.max() < 1e-9
    with pytest.raises(ValueError, match="X has 20 rows, but KernelMap was fitted on 60"):
        mc.certify(model, X[40:])
    axes, shift = model.expansion_, model.intercept_
    model.intercept_ = shift + 0.1
    assert mc.certify(model, X).residuals.max() > 1e-3
    model.intercept_, model.expansion_ = shift, 1.1 * axes
    assert mc.certify(model, X).residuals.max() > 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_assigned_axes_of_the_same_span_leave_residuals_and_preimages_unchanged(
    dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, new = (rng.standard_normal((n, 3)).astype(dtype) for n in (40, 5))
    model = KernelMap(mc.Gaussian(0.3), tol=1e-2).fit(X)
    distances, found = model.residual(new), model.inverse_transform(model.transform(new))
    Q = np.linalg.qr(rng.standard_normal((model.n_components_,) * 2))[0].astype(dtype)
    model.expansion_ = model.expansion_ @ Q
    model.intercept_ = model.intercept_ @ Q
    tolerance = 1e-3 if dtype == np.float32 else 1e-6
    np.testing.assert_allclose(model.residual(new), distances, atol=tolerance)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(new)), found, atol=10 * tolerance
    )


def test_an_axis_without_coefficients_has_an_infinite_residual():
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = mc.KernelMap(mc.Gaussian(0.5)).fit(X)
    model.expansion_ = model.expansion_ * np.append(0.0, np.ones(len(model.expansion_) - 1))
    residuals = mc.certify(model, X).residuals
    assert np.isinf(residuals[0])
    assert np.isfinite(residuals[1:]).all()


@pytest.mark.parametrize(
    "params", [{}, {"centre": False}, {"landmarks": np.linspace(-1, 1, 18).reshape(6, 3)}]
)
def test_whole_weights_equal_repetitions(params, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, new, w = rng.normal(size=(25, 3)), rng.normal(size=(7, 3)), rng.integers(0, 4, 25)
    weighted = KernelMap(mc.Gaussian(2.0), **params).fit(X, sample_weight=w)
    repeated = KernelMap(mc.Gaussian(2.0), **params).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-7)
    np.testing.assert_allclose(weighted.residual(new), repeated.residual(new), atol=1e-7)
    assert weighted.n_samples_seen_ == w.sum()
    assert mc.certify(weighted, X, sample_weight=w).residuals.max() < 1e-9
    weighted.partial_fit(new)
    repeated.partial_fit(new)
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-6)


def test_the_origin_is_the_mean_under_the_measure(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, w = rng.normal(size=(12, 3)), rng.exponential(size=12)
    map_ = KernelMap(mc.Gaussian(2.0)).fit(X, sample_weight=w)
    Y = map_.transform(X)
    np.testing.assert_allclose(w @ Y, 0, atol=1e-9)
    # axes are principal: no covariance under the measure
    M = (Y.T * w) @ Y
    np.testing.assert_allclose(M, np.diag(np.diag(M)), atol=1e-9 * M.max())
