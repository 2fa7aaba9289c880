"""KernelPCA: equivalences of the theory, pre-images, and the checks of scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as ReferenceKernelPCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc

SETTINGS = [
    mc.KernelPCA(),
    mc.KernelPCA(2, kernel="rbf"),
    mc.KernelPCA(2, kernel=mc.Matern(length="median"), whiten=True),
    mc.KernelPCA(2, kernel="poly", preimage="gradient"),
    mc.KernelPCA(2, kernel=mc.Gaussian("median") + mc.Linear(), preimage=mc.Gradient(max_iter=5)),
    mc.KernelPCA(3, kernel=mc.Normalized(mc.Polynomial(2)), memory="200MB", random_state=0),
    mc.KernelPCA(2, kernel="rbf", landmarks=5, random_state=0),
    mc.KernelPCA(0.9, kernel="rbf"),
    mc.KernelPCA(2, kernel="rbf", centre=False),
    mc.KernelPCA(kernel="poly", landmarks=6, rule="leverage", whiten=True, random_state=0),
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


def aligned(scores, reference):
    """Return scores with the signs of a reference."""
    return scores * np.sign(np.sum(scores * reference, axis=0))


def test_the_linear_kernel_gives_linear_pca(points):
    ours, theirs = mc.KernelPCA(4).fit(points), PCA(4).fit(points)
    scores, expected = ours.transform(points), theirs.transform(points)
    np.testing.assert_allclose(aligned(scores, expected), expected, atol=1e-12)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-13
    )
    np.testing.assert_allclose(
        ours.eigenvalues_ / (len(points) - 1), theirs.explained_variance_, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        (mc.Gaussian(0.3), {"kernel": "rbf", "gamma": 0.3}),
        (mc.Polynomial(3, 0.5, 1.0), {"kernel": "poly", "degree": 3, "gamma": 0.5, "coef0": 1.0}),
        (mc.Normalized(mc.Linear()), {"kernel": "cosine"}),
    ],
)
def test_scores_agree_with_scikit_learn(points, kernel, parameters):
    new = points[::-1] + 0.1
    ours = mc.KernelPCA(3, kernel=kernel).fit(points)
    theirs = ReferenceKernelPCA(3, eigen_solver="dense", **parameters).fit(points)
    expected = theirs.transform(new)
    np.testing.assert_allclose(aligned(ours.transform(new), expected), expected, atol=1e-10)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)


def test_eigenpairs_satisfy_the_eigenvalue_equation(points):
    kpca = mc.KernelPCA(10, kernel=mc.Gaussian(0.3)).fit(points)
    K = mc.Gaussian(0.3)(points)
    H = np.eye(60) - 1 / 60
    V, values = kpca.eigenvectors_, kpca.eigenvalues_
    residual = np.linalg.norm(H @ K @ H @ V - V * values, axis=0) / values[0]
    assert residual.max() <= 1e-13 * np.sqrt(60)
    np.testing.assert_allclose(V.T @ V, np.eye(10), atol=1e-13)


def test_the_lazy_solver_finds_the_eigenpairs_of_the_dense_one(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((2300, 3))
    lazy = mc.KernelPCA(6, kernel=mc.Gaussian(0.2), random_state=0).fit(X)
    exact = mc.KernelPCA(6, kernel=mc.Precomputed()).fit(mc.Gaussian(0.2)(X))
    np.testing.assert_allclose(lazy.eigenvalues_, exact.eigenvalues_, rtol=1e-11)
    K = mc.Gram(mc.Gaussian(0.2), X)
    V = lazy.eigenvectors_
    HKHV = K @ V - (K @ V).mean(axis=0)
    assert (
        np.linalg.norm(HKHV - V * lazy.eigenvalues_, axis=0) / lazy.eigenvalues_[0]
    ).max() <= 1e-13 * np.sqrt(2300)


def test_fit_transform_is_fit_then_transform(points):
    for whiten in (False, True):
        kpca = mc.KernelPCA(5, kernel="rbf", whiten=whiten)
        np.testing.assert_allclose(
            kpca.fit_transform(points), kpca.fit(points).transform(points), atol=1e-11
        )


def test_its_certificate_is_the_residual_of_the_eigenvalue_equation(points):
    kpca = mc.KernelPCA(4, kernel=mc.Gaussian(0.3)).fit(points)
    assert mc.certify(kpca, points).residuals.max() < 1e-13
    kpca.eigenvalues_ = kpca.eigenvalues_ * 1.5
    changed = (1 - 1.5**-0.5) * kpca.eigenvalues_ / kpca.eigenvalues_[0]
    np.testing.assert_allclose(mc.certify(kpca, points).residuals, changed)
    equal = mc.certify(kpca, points, sample_weight=np.full(60, 1.0)).residuals
    np.testing.assert_allclose(equal, mc.certify(kpca, points).residuals)


def test_precomputed_rows_give_the_scores_of_the_points(points):
    kernel = mc.Gaussian(0.3)
    direct = mc.KernelPCA(4, kernel=kernel).fit(points)
    given = mc.KernelPCA(4, kernel="precomputed").fit(kernel(points))
    new = points[:7] + 0.2
    np.testing.assert_allclose(
        given.transform(kernel(new, points)), direct.transform(new), atol=1e-11
    )


def test_sparse_rows_give_the_scores_of_dense_ones(points):
    dense = np.where(points > 0, points, 0.0)
    for kernel in ("linear", "poly", mc.Gaussian(0.3)):
        expected = mc.KernelPCA(3, kernel=kernel).fit(dense).transform(dense[:5])
        for container in (sp.csr_matrix, sp.csc_array, sp.coo_matrix):
            ours = (
                mc.KernelPCA(3, kernel=kernel).fit(container(dense)).transform(container(dense[:5]))
            )
            np.testing.assert_allclose(ours, expected, atol=1e-9)


def test_a_list_of_strings_has_components():
    words = ["kernel", "kernels", "colonel", "margin", "margins", "merging"]

    def shared_letters(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    kpca = mc.KernelPCA(3, kernel=shared_letters).fit(words)
    np.testing.assert_allclose(kpca.fit_transform(words), kpca.transform(words), atol=1e-12)
    assert kpca.transform(["colonels"]).shape == (1, 3)


def test_float32_stays_float32_and_agrees_with_float64(points):
    wide, narrow = (
        mc.KernelPCA(3, kernel=mc.Gaussian(0.3)).fit(points.astype(t))
        for t in (np.float64, np.float32)
    )
    scores = narrow.transform(points.astype(np.float32))
    assert scores.dtype == narrow.eigenvectors_.dtype == np.float32
    np.testing.assert_allclose(np.abs(scores), np.abs(wide.transform(points)), atol=2e-4)


def test_scores_do_not_depend_on_rotation_or_offset(points, global_random_seed):
    Q = np.linalg.qr(np.random.default_rng(global_random_seed).standard_normal((4, 4)))[0]
    kpca = mc.KernelPCA(5, kernel=mc.Gaussian(0.3))
    expected = kpca.fit_transform(points)
    np.testing.assert_allclose(
        np.abs(kpca.fit_transform(points @ Q + 1e6)), np.abs(expected), atol=1e-8
    )


def test_repeated_fits_are_bitwise_equal(points):
    kpca = mc.KernelPCA(5, kernel="rbf", random_state=0)
    first = kpca.fit_transform(points)
    assert all((clone(kpca).fit_transform(points) == first).all() for _ in range(5))


def test_whitened_scores_have_unit_variance_and_no_correlation(points):
    scores = mc.KernelPCA(6, kernel="rbf", whiten=True).fit_transform(points)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-11)
    np.testing.assert_allclose(scores.T @ scores / len(points), np.eye(6), atol=1e-11)


def test_no_shorter_orthogonal_directions_have_unit_variance(points, global_random_seed):
    """Among orthogonal directions of unit variance the whitened components are the shortest."""
    kernel, m = mc.Gaussian(0.3), 4
    ours = mc.KernelPCA(m, kernel=kernel, whiten=True).fit(points).expansion_.norms()
    basis = mc.KernelPCA(12, kernel=kernel).fit(points)
    variance = basis.eigenvalues_ / len(points)
    rng = np.random.default_rng(global_random_seed)
    for _ in range(200):
        directions = np.linalg.qr(rng.standard_normal((12, m)))[0]
        # directions are orthonormal; dividing by the standard deviation of the scores gives unit variance
        lengths = np.sort(1 / np.sqrt(np.einsum("ij,i,ij->j", directions, variance, directions)))
        assert (lengths >= ours - 1e-12).all()


def test_reconstruct_gives_the_projections_with_the_mean(points):
    kernel = mc.Gaussian(0.3)
    for whiten in (False, True):
        kpca = mc.KernelPCA(5, kernel=kernel, whiten=whiten).fit(points)
        psi = kpca.reconstruct(kpca.transform(points[:4]))
        phi = mc.features(kernel, points)
        # Pythagoras about the mean: |phi - mu|^2 = |P phi - mu|^2 + |phi - P phi|^2
        centred = mc.sqdist(phi[:, np.arange(4)], mc.mean(phi)).ravel()
        inside = mc.sqdist(psi, mc.mean(phi)).ravel()
        outside = mc.sqdist(psi, phi[:, np.arange(4)], paired=True)
        np.testing.assert_allclose(inside + outside, centred, atol=1e-11)


@pytest.mark.parametrize("whiten", [False, True])
def test_the_residual_is_the_distance_to_the_projection(points, whiten):
    kernel, new = mc.Gaussian(0.3), points[:9] + 0.2
    kpca = mc.KernelPCA(5, kernel=kernel, whiten=whiten).fit(points)
    expected = mc.sqdist(
        mc.features(kernel, new), kpca.reconstruct(kpca.transform(new)), paired=True
    )
    np.testing.assert_allclose(kpca.coordinates_.residual(new) ** 2, expected, atol=1e-12)
    np.testing.assert_array_equal(kpca.coordinates_(new), kpca.transform(new))


def test_shares_of_the_variance_add_up_to_one(points):
    for whiten in (False, True):
        kpca = mc.KernelPCA(kernel=mc.Gaussian(0.3), whiten=whiten).fit(points)
        assert kpca.explained_variance_ratio_.sum() == pytest.approx(1, abs=1e-12)


def test_denoising_is_the_inverse_transform_of_the_scores(points):
    """One basin of attraction: the start does not matter."""
    kpca = mc.KernelPCA(3, kernel=mc.Gaussian(0.1), preimage="fixed_point").fit(points)
    X = 0.3 * points[:6]
    expected = kpca.inverse_transform(kpca.transform(X))
    np.testing.assert_allclose(kpca.denoise(X), expected, atol=1e-4)
    np.testing.assert_array_equal(
        kpca.denoise(X, "distances"), kpca.set_params(preimage="distances").denoise(X)
    )


def test_the_inverse_transform_of_all_linear_components_is_exact(points):
    kpca = mc.KernelPCA(4, kernel="linear").fit(points)
    np.testing.assert_allclose(kpca.inverse_transform(kpca.transform(points)), points, atol=1e-8)


def test_linear_denoising_is_the_projection_of_pca(points):
    ours, theirs = mc.KernelPCA(2).fit(points), PCA(2).fit(points)
    noisy = points[:9] + 0.3
    np.testing.assert_allclose(
        ours.denoise(noisy), theirs.inverse_transform(theirs.transform(noisy)), atol=1e-7
    )


def test_denoising_brings_points_nearer_to_the_circle():
    angle = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = circle + 0.15 * np.random.default_rng(0).standard_normal(circle.shape)
    kpca = mc.KernelPCA(8, kernel=mc.Gaussian(2.0)).fit(circle)
    denoised = kpca.denoise(noisy)
    distance = np.abs(np.linalg.norm(denoised, axis=1) - 1)
    assert distance.max() < 0.25 * np.abs(np.linalg.norm(noisy, axis=1) - 1).max()


def test_rows_with_marks_are_denoised_to_rows_of_data(points):
    kernel = mc.kernels.DirectSum(mc.Gaussian(0.2), mc.Linear(), n_features=points.shape[1])
    rows = np.column_stack([points, np.arange(len(points)) % 3 - 1.0])
    model = mc.KernelPCA(2, kernel=kernel).fit(rows)
    psi = model.coordinates_.vectors(model.transform(rows[:5]))
    nearest, starts = (
        mc.sqdist(psi, mc.features(kernel, each), paired=True)
        for each in (model.denoise(rows[:5]), points[:5])
    )
    assert (nearest < starts).all()


def test_denoising_in_blocks_equals_denoising_at_once(points, limits):
    kpca = mc.KernelPCA(3, kernel=mc.Gaussian(0.3)).fit(points)
    whole = kpca.denoise(points[:10])
    limits(preimages=3)
    np.testing.assert_allclose(kpca.denoise(points[:10]), whole, atol=1e-8)


@pytest.fixture
def three_clusters(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    centres = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
    return np.repeat(centres, 30, axis=0) + 0.1 * rng.standard_normal((90, 2))


@pytest.mark.parametrize("gain", [0.1, 1.0, 5.0, 10.0])
def test_the_sigmoid_example_uses_the_positive_part_of_its_spectrum(three_clusters, gain):
    kernel = mc.Sigmoid(gain, 1.0)
    spectrum = np.linalg.eigvalsh(_centred(kernel(three_clusters)))
    with pytest.warns(UserWarning, match="lambda_min") as caught:
        kpca = mc.KernelPCA(2, kernel=kernel).fit(three_clusters)
    assert f"{spectrum[0] / spectrum[-1]:.2g}"[:4] in str(caught[0].message)
    np.testing.assert_allclose(kpca.eigenvalues_, spectrum[-1:-3:-1], rtol=1e-9)
    scores = kpca.transform(three_clusters)
    assert np.isfinite(scores).all()
    # two components separate the three clusters
    labels = np.repeat([0, 1, 2], 30)
    assert KNeighborsClassifier(5).fit(scores, labels).score(scores, labels) > 0.95


def _centred(K):
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1)[:, None]


@pytest.mark.parametrize("n_components", [1, 2, None])
def test_an_indefinite_kernel_is_reported_for_every_number_of_components(points, n_components):
    with pytest.warns(UserWarning, match="lambda_min"):
        kpca = mc.KernelPCA(n_components, kernel=mc.Sigmoid(4.0)).fit(points)
    assert (kpca.eigenvalues_ > 0).all()


def test_more_components_than_the_rank_are_cut_with_a_warning(points):
    with pytest.warns(UserWarning, match="4"):
        kpca = mc.KernelPCA(10, kernel="linear").fit(points)
    assert kpca.n_components_ == 4
    assert kpca.transform(points).shape == (60, 4)


def test_points_without_variance_are_an_error():
    with (
        pytest.warns(UserWarning, match="constant|narrower"),
        pytest.raises(ValueError, match="no variance"),
    ):
        mc.KernelPCA(1, kernel="rbf").fit(np.ones((10, 3)))


def test_asymmetric_precomputed_matrices_are_refused():
    K = np.eye(5)
    K[0, 1] = 0.5
    with pytest.raises(ValueError, match="must be symmetric"):
        mc.KernelPCA(2, kernel="precomputed").fit(K)


def test_grid_search_reaches_into_kernels():
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16, y[:200]
    pipeline = make_pipeline(
        mc.KernelPCA(10, kernel=mc.Gaussian(0.1) + mc.Linear()), KNeighborsClassifier(3)
    )
    search = GridSearchCV(pipeline, {"kernelpca__kernel__left__gamma": [0.05, 0.1]}, cv=2).fit(X, y)
    assert search.best_estimator_[0].kernel_.left.gamma in (0.05, 0.1)
    shorthand = GridSearchCV(make_pipeline(mc.KernelPCA(10, kernel="rbf"), KNeighborsClassifier(3)),
                             {"kernelpca__kernel__gamma": [0.05, 0.1]}, cv=2).fit(X, y)  # fmt: skip
    assert shorthand.best_estimator_[0].kernel_.gamma in (0.05, 0.1)


def test_the_given_kernel_is_left_as_it_is(points):
    kpca = mc.KernelPCA(2, kernel="rbf").fit(points)
    assert kpca.kernel == "rbf"
    assert kpca.kernel_ == mc.Gaussian("auto").resolve(points)


def test_a_fitted_model_does_not_change_with_the_data_or_the_parameters(points):
    mine = points.copy()
    kpca = mc.KernelPCA(2, kernel="rbf").fit(mine)
    before = kpca.transform(points)
    mine[:] = 0
    kpca.set_params(kernel__gamma=100.0)
    assert (kpca.transform(points) == before).all()


@pytest.mark.parametrize("landmarks", [None, 20])
@pytest.mark.parametrize("whiten", [False, True])
def test_components_are_whitened_as_at_their_fit(points, whiten, landmarks, tmp_path):
    kpca = mc.KernelPCA(4, kernel="rbf", whiten=whiten, landmarks=landmarks, random_state=0)
    kpca.fit(points)
    scores = kpca.transform(points)
    expected = kpca.inverse_transform(scores), kpca.score_samples(points)
    kpca.set_params(whiten=not whiten)
    mc.save(kpca, tmp_path / "model.npz")
    loaded = mc.load(tmp_path / "model.npz")
    for model in (kpca, loaded):
        np.testing.assert_array_equal(model.transform(points), scores)
        np.testing.assert_array_equal(model.inverse_transform(scores), expected[0])
        np.testing.assert_array_equal(model.score_samples(points), expected[1])
        assert max(mc.certify(model, points).residuals) < 1e-12
    compressed = mc.compress(kpca, n_vectors=len(points) - 1)
    np.testing.assert_allclose(compressed.score_samples(points), expected[1], atol=0.01)
    # the next fit whitens as the parameter says
    assert kpca.fit(points).score_samples(points) == pytest.approx(expected[1], abs=1e-8)
    assert not np.allclose(kpca.transform(points), scores)


def test_an_unfitted_model_raises_not_fitted_error(points):
    for method in (
        mc.KernelPCA().transform,
        mc.KernelPCA().inverse_transform,
        mc.KernelPCA().denoise,
    ):
        with pytest.raises(NotFittedError):
            method(points)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components = 0 must be at least 1"),
        (
            {"n_components": 1.5},
            TypeError,
            "n_components must be a whole number, or a share .* below 1, got",
        ),
        ({"kernel": "rfb"}, ValueError, "'rfb' must be one of"),
        ({"kernel": 3}, TypeError, "kernel must be"),
        ({"memory": "lots"}, ValueError, "memory"),
        ({"kernel": mc.Chi2(1.0)}, ValueError, "must be at least 0"),
    ],
)
def test_bad_parameters_are_named(points, parameters, error, message):
    with pytest.raises(error, match=message):
        mc.KernelPCA(**parameters).fit(points)


def test_wrong_scores_are_refused(points):
    kpca = mc.KernelPCA(2, kernel="rbf").fit(points)
    with pytest.raises(ValueError, match=r"\(m, 2\)"):
        kpca.inverse_transform(np.ones((3, 5)))


def test_the_warning_of_a_low_rank_names_the_parameter():
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.warns(UserWarning, match="n_components = 10 exceeds the numerical rank 3"):
        mc.KernelPCA(10).fit(X)


def test_shares_of_variance_under_a_kernel_that_is_definite_on_changes_of_sum_0_only_add_up_to_1():
    X = np.random.default_rng(0).standard_normal((30, 3))
    kpca = mc.KernelPCA(kernel="precomputed").fit(-np.linalg.norm(X[:, None] - X[None], axis=2) - 1)
    assert kpca.explained_variance_ratio_.sum() == pytest.approx(1, abs=1e-10)


def test_eigenvalues_over_landmarks_grow_with_them_to_the_exact_ones(points):
    kernel = mc.Gaussian(0.3)
    exact = mc.KernelPCA(5, kernel=kernel).fit(points)
    found = [
        mc.KernelPCA(5, kernel=kernel, landmarks=points[:m]).fit(points).eigenvalues_
        for m in (8, 15, 30, 60)
    ]
    # eigenvalues of projections onto nested subspaces interlace
    assert (np.diff([*found, exact.eigenvalues_ * (1 + 1e-9)], axis=0) >= -1e-9).all()
    np.testing.assert_allclose(found[-1], exact.eigenvalues_, rtol=1e-9)


@pytest.mark.parametrize("whiten", [False, True])
def test_components_over_landmarks_are_those_of_the_projections(points, whiten):
    """The outside law: linear PCA of the Nystroem features."""
    kernel = mc.Gaussian(0.3)
    model = mc.KernelPCA(4, kernel=kernel, landmarks=points[:12], whiten=whiten).fit(points)
    projected = mc.Nystroem(kernel, landmarks=points[:12]).fit(points)
    pca = PCA(4, whiten=whiten).fit(projected.transform(points))
    new = points[::-1] + 0.1
    expected = pca.transform(projected.transform(new)) * (np.sqrt(60 / 59) if whiten else 1.0)
    np.testing.assert_allclose(aligned(model.transform(new), expected), expected, atol=1e-8)
    np.testing.assert_allclose(model.eigenvalues_ / 59, pca.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.fit_transform(points), model.transform(points), atol=0)
    np.testing.assert_allclose(model.reconstruct(model.transform(new)).inner(model.expansion_) + model.intercept_,
                               model.transform(new), atol=1e-8)  # fmt: skip


def test_shares_of_the_variance_over_landmarks_miss_what_is_outside_of_their_span(points):
    kernel = mc.Gaussian(0.3)
    model = mc.KernelPCA(kernel=kernel, landmarks=points[:12]).fit(points)
    outside = np.sum(mc.KernelMap(kernel, landmarks=points[:12]).fit(points).residual(points) ** 2)
    total = outside / (1 - model.explained_variance_ratio_.sum())
    np.testing.assert_allclose(
        model.eigenvalues_ / total, model.explained_variance_ratio_, rtol=1e-6
    )
    assert outside / 60 == pytest.approx(model.trace_error_, rel=1e-6)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("whiten", [False, True])
def test_points_in_parts_give_the_fit_on_all_of_them(points, whiten, dtype, error):
    points, kernel = points.astype(dtype), mc.Gaussian(0.3)
    landmarks = points[:10] + dtype(0.05)
    whole = mc.KernelPCA(3, kernel=kernel, landmarks=landmarks, whiten=whiten).fit(points)
    parts = mc.KernelPCA(3, kernel=kernel, landmarks=landmarks, whiten=whiten)
    for rows in (slice(0, 6), slice(6, 7), slice(7, 40), slice(40, 60)):
        parts.partial_fit(points[rows])
    np.testing.assert_allclose(parts.eigenvalues_, whole.eigenvalues_, rtol=error)
    np.testing.assert_allclose(parts.transform(points), whole.transform(points), atol=error)
    assert parts.trace_error_ == pytest.approx(whole.trace_error_, abs=error)
    assert parts.n_samples_ == 60
    assert mc.certify(parts, points).residuals.max() < error
    continued = clone(whole).fit(points[:30]).partial_fit(points[30:])
    np.testing.assert_allclose(continued.transform(points), whole.transform(points), atol=error)


def test_parts_need_landmarks_that_are_points(points, tmp_path):
    for landmarks in (None, 5):
        model = mc.KernelPCA(2, kernel="rbf", landmarks=landmarks)
        with pytest.raises(AttributeError, match="partial_fit") as caught:
            model.partial_fit(points)
        assert (
            f"got landmarks = {landmarks!r}; give an array"
            in f"{caught.value}{caught.value.__cause__}"
        )
    with pytest.raises(TypeError, match="'precomputed' has no partial_fit"):
        mc.KernelPCA(2, kernel="precomputed", landmarks=np.arange(5)).partial_fit(points @ points.T)
    model = mc.KernelPCA(2, kernel="rbf", landmarks=points[:5]).partial_fit(points)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.partial_fit(points[:, :3])
    mc.save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="sums over earlier points"):
        mc.load(tmp_path / "model").partial_fit(points)


def test_the_certificate_over_landmarks_sees_eigenvalues_axes_and_the_origin(points):
    model = mc.KernelPCA(3, kernel=mc.Gaussian(0.3), landmarks=points[:10], whiten=True).fit(points)
    assert mc.certify(model, points).residuals.max() < 1e-12
    for name, factor in (("eigenvalues_", 1.1), ("expansion_", 1.1), ("intercept_", -1.0)):
        right = getattr(model, name)
        setattr(model, name, factor * right)
        assert mc.certify(model, points).residuals.max() > 1e-3
        setattr(model, name, right)


def test_more_components_than_the_rank_of_the_landmarks_are_cut_with_a_warning(points):
    with pytest.warns(
        UserWarning,
        match="n_components = 9 exceeds the rank . of the projections onto the landmarks",
    ):
        model = mc.KernelPCA(9, kernel=mc.Gaussian(0.3), landmarks=points[:6]).fit(points)
    assert model.n_components_ == len(model.expansion_) <= 6


@pytest.mark.parametrize("landmarks", [None, 20])
def test_a_share_of_the_variance_selects_the_number_of_components(points, landmarks):
    options = {"kernel": mc.Gaussian(0.3), "landmarks": landmarks, "random_state": 0}
    every = mc.KernelPCA(**options).fit(points)
    held = np.cumsum(every.explained_variance_ratio_)
    for share in (0.2, 0.5):
        model = mc.KernelPCA(share, **options).fit(points)
        assert model.n_components_ == np.argmax(held >= share) + 1
        np.testing.assert_allclose(
            model.transform(points), every.transform(points)[:, : model.n_components_], atol=1e-9
        )


def test_a_share_beyond_the_span_of_landmarks_is_a_warning(points):
    with pytest.warns(
        UserWarning, match="n_components = 0.99 is a share of the variance above 0.*more landmarks"
    ):
        model = mc.KernelPCA(0.99, kernel=mc.Gaussian(0.3), landmarks=points[:5]).fit(points)
    assert model.n_components_ >= 4


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_the_stored_matrix_gives_the_components_of_lazy_products(
    dtype, error, global_random_seed, costs
):
    costs(DENSE_ORDER=200)
    points = np.random.default_rng(global_random_seed).standard_normal((500, 3)).astype(dtype)
    n_bytes = 500 * 500 * np.dtype(dtype).itemsize
    models = [mc.KernelPCA(4, kernel=mc.Gaussian(0.2), memory=b, random_state=0).fit(points)
              for b in (n_bytes, n_bytes - 1)]  # fmt: skip
    stored, lazy = models
    np.testing.assert_allclose(stored.eigenvalues_, lazy.eigenvalues_, rtol=error)
    np.testing.assert_allclose(stored.transform(points), aligned(lazy.transform(points), stored.transform(points)),
                               atol=10 * error)  # fmt: skip
    assert stored.residuals_.max() < (1e-11 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("landmarks", [None, 30])
def test_the_score_is_minus_the_squared_distance_to_the_components(
    whiten, landmarks, global_random_seed
):
    draw = np.random.default_rng(global_random_seed)
    points, new = draw.normal(size=(60, 3)), draw.normal(size=(20, 3))
    kernel = mc.Gaussian(0.3)
    model = mc.KernelPCA(4, kernel=kernel, whiten=whiten, landmarks=landmarks, random_state=0).fit(
        points
    )
    phi = mc.features(kernel, new)
    expected = -mc.sqdist(phi, model.reconstruct(model.transform(new)), paired=True)
    np.testing.assert_allclose(model.score_samples(new), expected, atol=1e-10)
    assert model.score(new) == pytest.approx(expected.mean(), abs=1e-10)
    if landmarks is not None:
        return
    # over the training points, the eigenvalues left out
    K = kernel(points)
    left = np.trace(K) - K.sum() / 60 - model.eigenvalues_.sum()
    assert model.score(points) == pytest.approx(-left / 60, rel=1e-9)


def test_with_a_linear_kernel_the_score_is_the_reconstruction_error_of_pca(global_random_seed):
    draw = np.random.default_rng(global_random_seed)
    points, new = draw.normal(size=(60, 5)), draw.normal(size=(20, 5))
    theirs = PCA(2).fit(points)
    errors = np.sum((new - theirs.inverse_transform(theirs.transform(new))) ** 2, axis=1)
    np.testing.assert_allclose(mc.KernelPCA(2).fit(points).score_samples(new), -errors, atol=1e-10)


def test_novel_points_have_the_lowest_scores(global_random_seed):
    draw = np.random.default_rng(global_random_seed)
    angles = draw.uniform(0, 2 * np.pi, 200)
    ring = np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * draw.normal(size=(200, 2))
    # inside the ring, where a density of one bump is high
    novel = 0.1 * draw.normal(size=(30, 2))
    model = mc.KernelPCA(20, kernel=mc.Gaussian(2.0)).fit(ring[:150])
    assert model.score_samples(novel).max() < np.median(model.score_samples(ring[150:]))


def test_rows_of_a_given_matrix_have_a_score_where_their_squared_norm_is_known():
    X = np.arange(12.0).reshape(6, 2)
    K = mc.Gaussian(0.05)(X)
    given, own = (
        mc.KernelPCA(2, kernel="precomputed").fit(K),
        mc.KernelPCA(2, kernel=mc.Gaussian(0.05)).fit(X),
    )
    np.testing.assert_allclose(given.score_samples(K[:2]), own.score_samples(X[:2]), rtol=1e-9)
    with pytest.raises(ValueError, match="row 0 is not known"):
        mc.KernelPCA(1, kernel="precomputed").fit(X @ X.T).score_samples(X[:2] @ X.T + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("whiten", [False, True])
def test_components_without_centring_are_the_eigenvectors_of_the_gram_matrix(points, dtype, whiten):
    kernel = mc.Gaussian(0.3)
    K = kernel(points)
    values, V = np.linalg.eigh(K)
    values, V = values[::-1][:3], V[:, ::-1][:, :3]
    new = points[::-1] + 0.1
    expected = kernel(new, points) @ V / np.sqrt(values)
    scale = np.sqrt(values / len(points)) if whiten else 1.0
    rows = points.astype(dtype)
    close = {"atol": 1e-4 if dtype == np.float32 else 1e-10}
    for landmarks in (None, rows):
        kpca = mc.KernelPCA(3, kernel=kernel, whiten=whiten, centre=False, landmarks=landmarks).fit(
            rows
        )
        scores = kpca.transform(new.astype(dtype))
        np.testing.assert_allclose(aligned(scores, expected), expected / scale, **close)
        np.testing.assert_allclose(
            kpca.eigenvalues_, values, rtol=1e-4 if dtype == np.float32 else 1e-10
        )
        np.testing.assert_allclose(kpca.explained_variance_ratio_, values / np.trace(K), **close)
        residual = np.maximum(1 - np.sum(expected**2, axis=1), 0)
        np.testing.assert_allclose(kpca.score_samples(new.astype(dtype)), -residual, **close)
        assert not kpca.mean_.coef.any()
        assert mc.certify(kpca, rows).residuals.max() < 1e-5


WEIGHTED = [
    {},
    {"whiten": True},
    {"centre": False},
    {"landmarks": np.linspace(-1, 1, 18).reshape(6, 3)},
    {"n_components": 0.9},
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("params", WEIGHTED)
def test_whole_weights_equal_repetitions(params, dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, new, w = (
        rng.normal(size=(40, 3)).astype(dtype),
        rng.normal(size=(7, 3)).astype(dtype),
        rng.integers(0, 4, 40),
    )
    params = {"n_components": 4, "kernel": mc.Gaussian(0.3), **params}
    weighted = mc.KernelPCA(**params).fit(X, sample_weight=w)
    repeated = mc.KernelPCA(**params).fit(np.repeat(X, w, axis=0))
    tol = 2e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=tol)
    np.testing.assert_allclose(weighted.score_samples(new), repeated.score_samples(new), atol=tol)
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=tol)
    np.testing.assert_allclose(
        weighted.explained_variance_ratio_, repeated.explained_variance_ratio_, rtol=tol
    )
    assert weighted.n_samples_ == repeated.n_samples_ == w.sum()
    assert (
        mc.certify(weighted, X, sample_weight=w).residuals.max() < 20 * np.finfo(dtype).eps ** 0.75
    )


def test_weighted_components_solve_the_eigenproblem_of_the_weighted_covariance(global_random_seed):
    # in input space: the covariance of a linear kernel under a measure
    rng = np.random.default_rng(global_random_seed)
    X, w = rng.normal(size=(30, 4)), rng.exponential(size=30)
    mu = w @ X / w.sum()
    values, axes = np.linalg.eigh(((X - mu).T * w) @ (X - mu))
    pca = mc.KernelPCA(4).fit(X, sample_weight=w)
    np.testing.assert_allclose(pca.eigenvalues_, values[::-1], rtol=1e-9)
    scores = (X - mu) @ axes[:, ::-1]
    np.testing.assert_allclose(np.abs(pca.transform(X)), np.abs(scores), atol=1e-9)
    np.testing.assert_allclose(mc.KernelPCA(4).fit_transform(X, sample_weight=w), pca.transform(X))
    # another covariance than that of equal weights
    assert not np.allclose(mc.KernelPCA(4).fit(X).eigenvalues_, values[::-1], rtol=0.01)


@pytest.mark.parametrize("whiten", [False, True])
def test_one_fit_has_the_scores_and_vectors_of_any_number_of_components(whiten, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, new = rng.normal(size=(50, 3)), rng.normal(size=(6, 3))
    every = mc.KernelPCA(8, kernel=mc.Gaussian(0.4), whiten=whiten).fit(X)
    for k in (1, 3, 8):
        few = mc.KernelPCA(k, kernel=mc.Gaussian(0.4), whiten=whiten).fit(X)
        scores = every.transform(new, n_components=k)
        np.testing.assert_allclose(scores, few.transform(new), atol=1e-9)
        np.testing.assert_allclose(
            every.reconstruct(scores)(X), few.reconstruct(few.transform(new))(X), atol=1e-9
        )
        np.testing.assert_allclose(
            every.inverse_transform(scores), few.inverse_transform(scores), atol=1e-3
        )
        np.testing.assert_allclose(every.denoise(new, n_components=k), few.denoise(new), atol=1e-3)
    with pytest.raises(ValueError, match="n_components = 9 must"):
        every.transform(new, n_components=9)
    with pytest.raises(ValueError, match="scores must have shape \\(m, 8\\), or fewer"):
        every.reconstruct(np.zeros((2, 9)))


@pytest.mark.parametrize(
    "kernel", [mc.kernels.PowerDistance(), mc.Sigmoid(1.0, -3.0)], ids=["zero", "negative"]
)
def test_sums_of_eigenvalues_that_are_no_variance_are_refused(kernel, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(20, 2))
    assert np.trace(kernel(X)) <= 0
    with (
        pytest.warns(UserWarning, match="indefinite"),
        pytest.raises(ValueError, match="centre=True"),
    ):
        mc.KernelPCA(2, kernel=kernel, centre=False).fit(X)


def test_weights_are_refused_unless_they_are_a_measure():
    X = np.eye(4)
    for weights, text in [
        (np.zeros(4), "sample_weight"),
        ([1, -1, 1, 1], "sample_weight"),
        (np.ones(3), "sample_weight"),
    ]:
        with pytest.raises(ValueError, match=text):
            mc.KernelPCA(1).fit(X, sample_weight=weights)
