"""Compiled loops over patches agree with the products of matrices that define them, for any cut into blocks."""

import numpy as np
import pytest

import mercer as mc
from mercer._compute import windows
from mercer._compute.profile import evaluate_profile, parameters
from mercer._compute.threads import limit_threads

KERNELS = [mc.Polynomial(3, 0.5, 1.0), mc.Gaussian(0.7), mc.Matern(1.0, 0.5)]


def defined(X, Z, kernel, patches, W):
    """Return the means (n, m) and their gradients (n, d) with weights W by the products of each patch."""
    radial, size = kernel.scalar == "radial", patches.matrix.shape[0]
    terms = (X[:, None] - Z) ** 2 if radial else X[:, None] * Z
    mean = evaluate_profile(kernel, terms @ patches.matrix).mean(axis=2)
    pull = (
        W[:, :, None]
        * evaluate_profile(kernel, terms @ patches.matrix, order=1)
        @ patches.matrix.T
        / size
    )
    return mean, (pull * (2 * (X[:, None] - Z) if radial else Z)).sum(axis=1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("n", "m", "shape", "width"), [(1, 1, (3, 3), 3), (17, 33, (4, 6), 5), (40, 15, (1, 8), 7)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_and_gradients_are_those_of_the_reference(
    kernel, n, m, shape, width, dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, Z = (rng.normal(size=(k, shape[0] * shape[1])).astype(dtype) for k in (n, m))
    W, patches = rng.normal(size=(n, m)), windows.Windows(shape, width)
    call = kernel, kernel.scalar, parameters(kernel), patches, X, Z
    tol = 300 * float(np.finfo(dtype).eps)
    mean, gradient = defined(X.astype(float), Z.astype(float), kernel, patches, W)
    np.testing.assert_allclose(windows.means(*call), mean, rtol=tol, atol=tol)
    np.testing.assert_allclose(
        windows.gradients(*call, W), gradient, rtol=tol, atol=tol * abs(gradient).max()
    )


def test_results_do_not_depend_on_the_threads():
    X = np.random.default_rng(0).normal(size=(50, 12))
    call = KERNELS[0], "dot", parameters(KERNELS[0]), windows.Windows((3, 4), 3), X, X[:20].copy()
    found = []
    for n in (1, 3):
        with limit_threads(n):
            found.append((windows.means(*call), windows.gradients(*call, np.ones((50, 20)))))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_the_slope_at_a_kink_counts_as_0():
    X = np.random.default_rng(0).normal(size=(4, 9))
    kernel = mc.Matern(1.0, 0.5)
    call = kernel, "radial", parameters(kernel), windows.Windows((3, 3), 3), X, X
    assert np.isfinite(windows.gradients(*call, np.eye(4))).all()


def test_weights_of_a_patch_are_a_pyramid_with_sum_1():
    patches = windows.Windows((9, 9), 5)
    np.testing.assert_allclose(patches.taps, np.array([1, 2, 3, 2, 1]) / 9)
    centre = patches.matrix[40].reshape(9, 9)
    np.testing.assert_allclose(centre.sum(), 1.0)
    np.testing.assert_allclose(centre[2:7, 2:7], np.outer(patches.taps, patches.taps))
    np.testing.assert_array_equal(patches.matrix, patches.matrix.T)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=repr)
def test_values_between_points_of_one_array_are_computed_once_and_are_the_same(kernel, monkeypatch):
    X = np.random.default_rng(0).normal(size=(43, 12))
    call, computed = (kernel, kernel.scalar, parameters(kernel), windows.Windows((3, 4), 3), X), []
    loop = windows._mean_loop(kernel.profile, kernel.scalar)

    def counted(rows, blocks, *others):
        computed.append(len(rows) * len(blocks))
        loop(rows, blocks, *others)

    expected = windows.means(*call, X.copy())
    monkeypatch.setattr(windows, "_mean_loop", lambda *_: counted)
    np.testing.assert_array_equal(windows.means(*call, X), expected)
    # blocks of 16 columns: 1 for the first 16 rows, 2 for the next ones, 3 for the last 11
    assert sum(computed) == 16 * 1 + 16 * 2 + 11 * 3
