"""DirectSum: inner products block by block, expansions that are sums, gradients, files, refused points."""

import numpy as np
import pytest

import mercer as mc
from mercer.expansion import direct_sum

KERNELS = (
    mc.Gaussian(0.5),
    mc.Mapped(mc.Laplacian(0.3), np.array([1.0, 2.0, 0.5])),
    mc.Matern(1.0, 1.5),
)


def blocks(seed, dtype=np.float64, m=2):
    """Return expansions of m vectors over three kernels and different points, and new points."""
    rng = np.random.default_rng(seed)
    sizes = 7, 4, 5
    parts = [
        mc.Expansion(
            kernel, rng.normal(size=(n, 3)).astype(dtype), rng.normal(size=(n, m)).astype(dtype)
        )
        for kernel, n in zip(KERNELS, sizes, strict=True)
    ]
    return parts, rng.normal(size=(6, 3)).astype(dtype)


def test_values_are_those_of_the_kernel_of_the_block_and_zero_across_blocks(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, marks = rng.normal(size=(12, 3)), np.resize([-1, 0, 1, 2], 12)
    K = mc.DirectSum(*KERNELS, n_features=3)(np.column_stack([X, marks]))
    for i, j in np.ndindex(K.shape):
        own = [
            kernel(X[[i]], X[[j]])[0, 0]
            for b, kernel in enumerate(KERNELS)
            if marks[i] in (-1, b) and marks[j] in (-1, b)
        ]
        assert K[i, j] == pytest.approx(sum(own), rel=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-12


def test_data_have_the_features_of_all_kernels(global_random_seed):
    _, X = blocks(global_random_seed)
    total = sum(kernel(X) for kernel in KERNELS)
    for kernel in mc.DirectSum(*KERNELS), mc.DirectSum(*KERNELS, n_features=3):
        np.testing.assert_allclose(kernel(X), total, rtol=1e-13)
        np.testing.assert_allclose(kernel.diag(X), total.diagonal(), rtol=1e-13)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_an_expansion_is_the_sum_of_expansions_over_different_kernels(
    dtype, tolerance, global_random_seed
):
    parts, X = blocks(global_random_seed, dtype)
    psi = direct_sum(*parts)
    assert psi(X).dtype == dtype
    np.testing.assert_allclose(psi(X), sum(part(X) for part in parts), atol=10 * tolerance)
    np.testing.assert_allclose(mc.features(psi.kernel, X).inner(psi), psi(X), atol=10 * tolerance)
    np.testing.assert_allclose(
        psi.norms() ** 2, sum(part.norms() ** 2 for part in parts), rtol=100 * tolerance
    )
    np.testing.assert_allclose(
        ((psi - 3 * psi) @ np.ones((2, 1)))(X), -2 * psi(X).sum(1)[:, None], atol=50 * tolerance
    )


def test_distances_to_vectors_over_the_sum_of_the_kernels_are_those_of_data(global_random_seed):
    parts, X = blocks(global_random_seed)
    psi = direct_sum(*parts)
    chi = mc.features(sum(KERNELS), X)
    expected = psi.norms()[:, None] ** 2 + chi.norms() ** 2 - 2 * psi(X).T
    np.testing.assert_allclose(mc.sqdist(psi, chi), expected, rtol=1e-12)
    np.testing.assert_allclose(mc.sqdist(chi, psi), expected.T, rtol=1e-12)


def test_gradients_are_central_differences(global_random_seed):
    parts, X = blocks(global_random_seed)
    psi, h = direct_sum(*parts), 1e-6
    assert psi.gradient(X).shape == (6, 2, 3)
    for k, step in enumerate(h * np.eye(3)):
        slope = (psi(X + step) - psi(X - step)) / (2 * h)
        np.testing.assert_allclose(psi.gradient(X)[:, :, k], slope, atol=1e-7)


def test_a_file_keeps_a_sum(tmp_path, global_random_seed):
    parts, X = blocks(global_random_seed)
    psi = direct_sum(*parts)
    mc.save(psi, tmp_path / "sum.mercer")
    found = mc.load(tmp_path / "sum.mercer")
    assert found.kernel == psi.kernel
    np.testing.assert_array_equal(found(X), psi(X))


def test_selected_vectors_keep_their_blocks(global_random_seed):
    parts, _ = blocks(global_random_seed, m=1)
    psi = direct_sum(*parts)
    found = mc.reduce(psi, 15, method="greedy")
    rows = {row.tobytes() for row in psi.points}
    assert all(row.tobytes() in rows for row in found.expansion.points)
    assert found.relative_error[0] < 0.5


def test_nested_sums_and_sums_of_sums_are_one_list(global_random_seed):
    parts, X = blocks(global_random_seed)
    first, *others = KERNELS
    nested = mc.DirectSum(first, mc.DirectSum(*others), n_features=3)
    assert nested == mc.DirectSum(*KERNELS, n_features=3)
    whole = direct_sum(direct_sum(*parts[:2]), parts[2])
    assert whole.kernel == nested
    np.testing.assert_array_equal(whole(X), direct_sum(*parts)(X))
    assert direct_sum(parts[0]) is parts[0]


@pytest.mark.parametrize("n_features", [None, 3])
def test_a_direct_sum_with_blocks_within_another_one_is_refused(n_features):
    inner = mc.DirectSum(*KERNELS, n_features=3)
    for kernels in ([inner, mc.Linear()], [mc.Linear(), inner], [mc.Linear(), inner, mc.Linear()]):
        with pytest.raises(ValueError, match="must have no blocks of its own.*leave out its n_f"):
            mc.DirectSum(*kernels, n_features=n_features)


def test_an_estimator_with_a_direct_sum_is_one_with_the_sum(global_random_seed):
    _, X = blocks(global_random_seed)
    rules = mc.Gaussian("scale"), mc.Linear()
    left, right = (
        mc.KernelRidge(kernel=k).fit(X, X[:, 0])
        for k in (mc.DirectSum(*rules), rules[0] + rules[1])
    )
    np.testing.assert_allclose(left.predict(X), right.predict(X), rtol=1e-9)


def test_bad_points_and_kernels_are_refused(global_random_seed):
    parts, X = blocks(global_random_seed)
    kernel = mc.DirectSum(*KERNELS, n_features=3)
    for mark in (3, -2, 0.5):
        with pytest.raises(
            ValueError, match=r"block .* in row 5; blocks must be from 0 to 2, or -1"
        ):
            kernel(np.column_stack([X, [0] * 5 + [mark]]))
    with pytest.raises(ValueError, match=r"X has 2 columns; it must have n_features = 3, or 4"):
        kernel(X[:, :2])
    with pytest.raises(ValueError, match="must take rows of numbers"):
        mc.DirectSum(mc.Linear(), mc.strings.Spectrum(2))
    with pytest.raises(ValueError, match="equally many vectors and columns"):
        direct_sum(parts[0], parts[1] @ np.ones((2, 1)))
    with pytest.raises(TypeError, match=r"DirectSum takes \(left, right, .*missing .*'right'"):
        mc.kernels.DirectSum(mc.Linear())
