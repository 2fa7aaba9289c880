"""Compiled loops over patches agree with the products of matrices that define them, for any cut into blocks."""

import numpy as np
import pytest
from tests.reference.inside import profile_values

import mercer as mc

KERNELS = [mc.Polynomial(3, 0.5, 1.0), mc.Gaussian(0.7), mc.Matern(1.0, 0.5)]


def weights(shape, width):
    """Return the weights (d, d) of the pixels in the patch of each pixel: a pyramid, of sum 1 for a whole patch."""
    half = (width + 1) / 2
    sides = [np.subtract.outer(np.arange(n), np.arange(n)) for n in shape]
    return np.kron(*(np.maximum(half - np.abs(side), 0) / half**2 for side in sides))


def defined(X, Z, kernel, patches, W):
    """Return the means (n, m) and their gradients (n, d) with weights W by the products of each patch."""
    radial, size = kernel.scalar == "radial", len(patches)
    terms = (X[:, None] - Z) ** 2 if radial else X[:, None] * Z
    mean = profile_values(kernel, terms @ patches).mean(axis=2)
    pull = W[:, :, None] * profile_values(kernel, terms @ patches, order=1) @ patches.T / size
    return mean, (pull * (2 * (X[:, None] - Z) if radial else Z)).sum(axis=1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("n", "m", "shape", "width"),
    [(1, 1, (3, 3), 3), (17, 33, (4, 6), 5), (40, 15, (1, 8), 7), (2, 3, (9, 9), 5)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_and_gradients_are_those_of_the_reference(
    kernel, n, m, shape, width, dtype, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, Z = (rng.normal(size=(k, shape[0] * shape[1])).astype(dtype) for k in (n, m))
    W, local = rng.normal(size=(n, m)), mc.Local(kernel, shape, width)
    tol = 300 * float(np.finfo(dtype).eps)
    mean, gradient = defined(X.astype(float), Z.astype(float), kernel, weights(shape, width), W)
    np.testing.assert_allclose(local(X, Z), mean, rtol=tol, atol=tol)
    np.testing.assert_allclose(
        local.vjp(X, Z, W), gradient, rtol=tol, atol=tol * abs(gradient).max()
    )


def test_results_do_not_depend_on_the_threads(using_threads):
    X = np.random.default_rng(0).normal(size=(50, 12))
    local, found = mc.Local(KERNELS[0], (3, 4), 3), []
    for n in (1, 3):
        with using_threads(n):
            Z = X[:20].copy()
            found.append((local(X, Z), local.vjp(X, Z, np.ones((50, 20)))))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_the_slope_at_a_kink_counts_as_0():
    X = np.random.default_rng(0).normal(size=(4, 9))
    assert not mc.Local(mc.Matern(1.0, 0.5), (3, 3), 3).vjp(X, X, np.eye(4)).any()


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=repr)
def test_values_between_points_of_one_array_are_those_between_equal_arrays(kernel):
    X = np.random.default_rng(0).normal(size=(43, 12))
    local = mc.Local(kernel, (3, 4), 3)
    np.testing.assert_allclose(local(X), local(X, X.copy()), rtol=1e-14)
    np.testing.assert_array_equal(local(X), local(X).T)
