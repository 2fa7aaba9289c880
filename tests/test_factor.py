"""svd and qr of expansions: the laws of factorisations, values of scikit-learn, singular cases."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer.factor import Wanted, eigenpairs, qr, svd

rng = np.random.default_rng(0)
X = rng.standard_normal((250, 4))
GAUSSIAN = mc.Gaussian(0.2)
PHI = mc.features(GAUSSIAN, X)
BLOCK = PHI @ rng.standard_normal((250, 30))


@pytest.fixture
def iterative(costs):
    """Let 250 vectors be many, so that the lazy route is taken."""
    costs(DENSE_ORDER=100)


@pytest.mark.parametrize("phi", [PHI, BLOCK], ids=["features", "coefficients"])
@pytest.mark.parametrize("centre", [True, False])
def test_the_vectors_are_orthonormal_and_lie_along_the_data(phi, centre):
    U, s = svd(phi, 6, centre)
    np.testing.assert_allclose(U.inner(U), np.eye(6), atol=1e-11)
    # U'A A'U = diag(s^2) for the centred block A
    A = phi - mc.mean(phi) if centre else phi
    inner = U.inner(A)
    np.testing.assert_allclose(inner @ inner.T, np.diag(s**2), atol=1e-10 * s[0] ** 2)


@pytest.mark.parametrize("centre", [True, False])
def test_all_singular_vectors_reproduce_the_inner_products(centre):
    U, s = svd(BLOCK, None, centre)
    A = BLOCK - mc.mean(BLOCK) if centre else BLOCK
    assert len(U) == (29 if centre else 30)
    coordinates = U.inner(A)
    np.testing.assert_allclose(coordinates.T @ coordinates, A.inner(A), atol=1e-10 * s[0] ** 2)


def test_the_coefficients_of_centred_features_are_v_over_s_and_sum_to_zero():
    U, s = svd(PHI, 5)
    np.testing.assert_allclose(U.coef.sum(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(U.coef, axis=0), 1 / s, rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [GAUSSIAN, mc.Polynomial(2), mc.Linear()], ids=lambda k: type(k).__name__
)
def test_scores_are_those_of_scikit_learn_up_to_sign(kernel):
    U, s = svd(mc.features(kernel, X), 4)
    theirs = TheirKernelPCA(4, kernel="precomputed", eigen_solver="dense").fit(kernel(X))
    np.testing.assert_allclose(s**2, theirs.eigenvalues_, rtol=1e-11)
    mu = mc.mean(mc.features(kernel, X))
    np.testing.assert_allclose(
        np.abs(U(X) - mu.inner(U)),
        np.abs(theirs.transform(kernel(X))),
        rtol=1e-8,
        atol=1e-10 * s[0],
    )


def test_the_linear_kernel_gives_principal_components():
    U, s = svd(mc.features(mc.Linear(), X), 3)
    theirs = PCA(3).fit(X)
    np.testing.assert_allclose(s, theirs.singular_values_, rtol=1e-12)
    np.testing.assert_allclose(np.abs(X.T @ U.coef), np.abs(theirs.components_.T), atol=1e-12)


def test_residuals_of_digits_meet_the_stated_tolerance():
    digits = load_digits().data
    phi = mc.features(mc.Gaussian("scale").resolve(digits), digits)
    pairs = eigenpairs(phi, Wanted(10))
    assert pairs.residuals.max() <= 1e-13 * len(digits) ** 0.5


@pytest.mark.usefixtures("iterative")
@pytest.mark.parametrize("centre", [True, False])
def test_the_lazy_route_gives_the_same_as_the_dense_one(centre, costs):
    Us, ss = [], []
    for order in (100, 2000):
        costs(DENSE_ORDER=order)
        U, s = svd(PHI, 4, centre)
        Us.append(U.coef)
        ss.append(s)
    np.testing.assert_allclose(ss[0], ss[1], rtol=1e-12)
    np.testing.assert_allclose(Us[0], Us[1], atol=1e-9)


@pytest.mark.usefixtures("iterative")
def test_the_lazy_route_stores_no_matrix():
    pairs = eigenpairs(PHI, Wanted(4), memory="1kB")
    assert pairs.converged.all()
    with pytest.raises(
        MemoryError,
        match=r"inner products of 250 vectors needs 500\.0 kB, the memory budget is 1\.0 kB",
    ):
        eigenpairs(PHI, Wanted(100), memory="1kB")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_data_is_kept(dtype):
    U, s = svd(mc.features(GAUSSIAN, X.astype(dtype)), 3)
    assert U.coef.dtype == s.dtype == dtype
    Q, R = qr(mc.features(GAUSSIAN, X.astype(dtype)))
    assert Q.coef.dtype == R.dtype == dtype
    np.testing.assert_allclose(U.inner(U), np.eye(3), atol=1e-10 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize(
    "kernel", [GAUSSIAN, mc.Linear(), mc.Polynomial(3)], ids=lambda k: type(k).__name__
)
def test_constant_data_have_no_variance(kernel):
    with pytest.raises(ValueError, match="no variance: the 30 vectors are equal"):
        svd(mc.features(kernel, np.full((30, 2), 0.3)), 2)


def test_zero_vectors_and_one_vector_have_no_variance_either():
    with pytest.raises(ValueError, match="the 5 vectors are zero"):
        svd(mc.features(mc.Linear(), np.zeros((5, 2))), 1, centre=False)
    with pytest.raises(ValueError, match="no variance: the 1 vectors"):
        svd(mc.features(GAUSSIAN, X[:1]), 1)


@pytest.mark.parametrize(
    ("n", "points"), [(10, X[:, :3]), (400, X[:, :3]), (4, np.repeat(X[:2], 5, axis=0)[:, :3])]
)
def test_more_than_the_rank_warns_and_gives_the_rank(n, points):
    rank = np.linalg.matrix_rank(points - points.mean(axis=0))
    with pytest.warns(UserWarning, match=f"n = {n} exceeds the numerical rank {rank}"):
        U, s = svd(mc.features(mc.Linear(), points), n)
    assert len(U) == len(s) == rank
    assert np.isfinite(U.coef).all()


def test_all_there_is_can_be_asked_for_without_a_warning():
    assert len(svd(mc.features(mc.Linear(), X), None)[1]) == 4


def test_an_indefinite_kernel_is_cut_with_the_same_verdict_for_every_n():
    phi = mc.features(mc.Sigmoid(4.0), X)
    K = mc.Sigmoid(4.0)(X)
    H = np.eye(250) - 1 / 250
    values = np.linalg.eigvalsh(H @ K @ H)
    verdicts = set()
    for n in (1, 2, 60, None):
        with pytest.warns(UserWarning, match="indefinite on these points") as record:
            _, s = svd(phi, n)
        verdicts.add(str(record[0].message))
        assert (s > 0).all()
    assert len(verdicts) == 1
    assert f"lambda_min / lambda_max = {values[0] / values[-1]:.3g};" in verdicts.pop()


def test_a_kernel_of_unknown_sign_that_is_positive_on_the_points_gives_no_warning():
    K = GAUSSIAN(X)
    kernel = mc.Precomputed().resolve(K)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, s = svd(mc.features(kernel, np.arange(250)), 3)
    np.testing.assert_allclose(s, svd(PHI, 3)[1], rtol=1e-12)


def test_repeated_singular_values_give_the_right_subspace():
    angle = 2 * np.pi * np.arange(24) / 24
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    U, s = svd(mc.features(mc.Gaussian(1.0), circle), 2)
    np.testing.assert_allclose(s[0], s[1], rtol=1e-12)
    V = U.coef * s
    np.testing.assert_allclose(V @ V.T, 2 / 24 * np.cos(angle[:, None] - angle), atol=1e-12)


@pytest.mark.parametrize("phi", [PHI, BLOCK], ids=["features", "coefficients"])
def test_qr_gives_orthonormal_vectors_that_reproduce_the_block(phi):
    Q, R = qr(phi)
    scale = phi.norms().max()
    np.testing.assert_allclose(Q.inner(Q), np.eye(len(Q)), atol=1e-6)
    np.testing.assert_allclose(R.T @ R, phi.inner(phi), atol=5e-8 * scale**2)
    np.testing.assert_allclose(Q.inner(phi), R, atol=2e-4 * scale)
    assert (phi - Q @ R).norms().max() <= 2e-4 * scale


def test_qr_of_well_conditioned_vectors_is_exact_to_rounding():
    phi = mc.features(mc.Gaussian(2.0), X)
    Q, R = qr(phi)
    assert len(Q) == 250
    np.testing.assert_allclose(Q.inner(Q), np.eye(250), atol=1e-13)
    np.testing.assert_allclose(R.T @ R, phi.inner(phi), atol=1e-13)


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_the_orthonormality_of_qr_is_as_documented(tol):
    flat = mc.features(mc.Gaussian(0.5), X[:, :2])
    Q, R = qr(flat, tol)
    assert len(Q) < 250
    assert np.abs(Q.inner(Q) - np.eye(len(Q))).max() <= 100 * np.finfo(float).eps / tol
    assert np.abs(R.T @ R - flat.inner(flat)).max() <= 1.01 * tol + 1e-14


def test_qr_reveals_the_rank_and_refuses_nothing_but_zero():
    Q, R = qr(mc.features(mc.Linear(), X))
    assert len(Q) == 4
    assert R.shape == (4, 250)
    with pytest.raises(ValueError, match="all 3 vectors are 0"):
        qr(mc.features(mc.Linear(), np.zeros((3, 2))))


def test_centred_directions_with_tiny_eigenvalues_contain_no_mean(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, new = rng.standard_normal((300, 3)), rng.standard_normal((5, 3))
    phi = mc.features(mc.Gaussian(0.05), X)
    U, _ = mc.svd(phi, None)
    scores = U(new) - mc.mean(phi).inner(U)
    # Bessel: no more of a vector lies in a span than there is
    length = mc.sqdist(mc.features(phi.kernel, new), mc.mean(phi))[:, 0]
    assert ((scores**2).sum(axis=1) <= length * (1 + 1e-5)).all()
    assert abs(U.coef.sum(axis=0) * np.sqrt((U.coef**2).sum(axis=0)) ** -1).max() < 1e-10


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("centre", [True, False])
def test_singular_vectors_over_rows_of_pytorch_are_those_over_rows_of_numpy(dtype, centre, tensor):
    import torch

    U, s = svd(mc.features(GAUSSIAN, tensor(X.astype(dtype))), 5, centre)
    plain, t = svd(mc.features(GAUSSIAN, X.astype(dtype)), 5, centre)
    assert (U.coef.dtype, s.dtype) == (getattr(torch, dtype),) * 2
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(s.cpu().numpy(), t, rtol=tolerance)
    np.testing.assert_allclose(U.coef.cpu().numpy(), plain.coef, atol=tolerance)


def test_no_positive_eigenvalue_at_all_is_a_warning_and_an_error():
    # squared distances below 0: about the mean the matrix has the eigenvalues 0 and -0.05
    K = np.array([[0.5, 0.6], [0.6, 0.6]])
    phi = mc.features(mc.Precomputed(K), np.arange(2))
    with (
        pytest.warns(UserWarning, match=r"lambda_min / lambda_max = -inf"),
        pytest.raises(ValueError, match="variance"),
    ):
        eigenpairs(phi, Wanted(None))


@pytest.mark.torch
def test_an_indefinite_spectrum_over_rows_of_pytorch_is_warned_of():
    import torch

    with pytest.warns(UserWarning, match="lambda_min / lambda_max = -0"):
        svd(mc.features(mc.Sigmoid(0.5, -0.5), torch.from_numpy(X)), 3)


@pytest.mark.torch
@pytest.mark.usefixtures("iterative")
def test_iterative_singular_vectors_over_rows_of_pytorch_are_those_over_rows_of_numpy():
    import torch

    (U, s), (plain, t) = (
        svd(mc.features(GAUSSIAN, rows), 3, random_state=0) for rows in (torch.from_numpy(X), X)
    )
    np.testing.assert_array_equal(s.numpy(), t)
    np.testing.assert_array_equal(U.coef.numpy(), plain.coef)


@pytest.mark.parametrize("tol", [-1, -1e-300])
def test_a_negative_tolerance_of_qr_is_refused(tol):
    with pytest.raises(ValueError, match=f"tol = {tol} must be at least 0"):
        mc.qr(mc.features(mc.Linear(), np.eye(2)), tol)


def test_points_far_from_the_origin_are_told_to_subtract_their_mean():
    X = np.random.default_rng(0).standard_normal((30, 3)) + 1e9
    with pytest.raises(ValueError, match="far from the origin, subtract their mean"):
        mc.KernelPCA().fit(X)


@pytest.mark.parametrize(("value", "rank"), [(4e-15, 1), (7e-15, 2)])
def test_eigenvalues_below_eight_m_eps_of_the_largest_squared_norm_are_cut(value, rank):
    # 8 * 3 * 2^-52 = 5.3e-15
    phi = mc.features(mc.Linear(), np.diag([1.0, value**0.5, 0.0]))
    assert len(svd(phi, None, centre=False)[1]) == rank


@pytest.mark.parametrize(("tol", "rank"), [(0.9e-4, 2), (1.1e-4, 1)])
def test_the_tolerance_of_qr_is_a_share_of_the_largest_squared_norm(tol, rank):
    phi = mc.features(mc.Linear(), np.array([[2.0, 0.0], [2.0, 0.02]]))
    assert len(qr(phi, tol)[0]) == rank


@pytest.mark.parametrize(
    ("dtype", "size", "rank"), [(np.float64, 2e-4, 2), (np.float64, 1e-4, 1), (np.float32, 1e-2, 1)]
)
def test_the_default_tolerance_of_qr_is_half_of_the_digits(dtype, size, rank):
    assert len(qr(mc.features(mc.Linear(), np.array([[1.0, 0.0], [1.0, size]], dtype)))[0]) == rank


def test_arguments_that_a_route_does_not_use_are_checked():
    with pytest.raises(ValueError, match="memory = '-1GB'"):
        qr(PHI, memory="-1GB")
    with pytest.raises(ValueError, match="random_state = 'x' must be a whole number"):
        svd(PHI, 2, random_state="x")


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e7])
def test_components_of_points_far_from_the_origin_are_those_of_centred_points_or_warn(offset):
    X = np.random.default_rng(5).standard_normal((30, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, s = svd(mc.features(mc.Linear(), X + offset), 3)
    error = np.abs(s**2 / np.linalg.svd(X - X.mean(axis=0))[1] ** 2 - 1).max()
    said = [each for each in caught if each.category is ConvergenceWarning]
    assert error < 1e-6 or "principal components are accurate to a share of" in str(said[0].message)
    assert bool(said) == (offset >= 1e6)


def test_a_number_of_components_may_have_a_narrow_type():
    # 2 * 100 + 1 and 50 * 100 overflow eight bits
    phi = mc.features(GAUSSIAN, np.random.default_rng(1).standard_normal((300, 3)))
    expected = svd(phi, 100)[1]
    for narrow in (np.int8(100), np.uint8(100)):
        np.testing.assert_array_equal(svd(phi, narrow)[1], expected)


@pytest.mark.parametrize("coef0", [-0.7, -0.5, 0.0, 0.5])
def test_a_span_with_negative_squared_distances_is_warned_of(coef0, recwarn):
    kernel = mc.Sigmoid(0.3, coef0)
    points = X[np.flatnonzero(kernel.diag(X) > 0)[:12]]
    _, R = qr(mc.features(kernel, points))
    left = kernel.diag(points) - np.square(R).sum(axis=0)
    assert any("indefinite" in str(each.message) for each in recwarn) == (left.min() < -1e-6)


def test_a_matrix_with_the_rounding_of_float32_is_not_called_indefinite(recwarn):
    K = mc.Gaussian(0.1)(X)
    _, R = qr(mc.features(mc.kernels.Precomputed(K.astype(np.float32)), np.arange(len(X))))
    assert not recwarn
    np.testing.assert_allclose(R.T @ R, K, atol=1e-5)


def square(A, B):
    return (A @ B.T + 1) ** 2


def test_the_proof_of_a_kernel_without_tags_takes_no_array_beyond_the_memory():
    X = np.random.default_rng(0).standard_normal((1600, 3))
    kernel = mc.FunctionKernel(square)
    few, whole = (mc.KernelPCA(2, kernel=kernel, memory=size).fit(X) for size in ("10MB", "1GB"))
    np.testing.assert_allclose(few.eigenvalues_, whole.eigenvalues_, rtol=1e-12)


def test_the_rank_of_float32_points_is_that_above_their_rounding_whatever_proves_the_kernel():
    X = np.random.default_rng(0).standard_normal((1600, 3)).astype(np.float32)
    for kernel in (mc.FunctionKernel(square), mc.Polynomial(2, 1.0, 1.0)):
        with pytest.warns(UserWarning, match="exceeds the numerical rank 9 of 1600"):
            model = mc.KernelPCA(20, kernel=kernel).fit(X)
        assert len(model.eigenvalues_) == 9
