"""Rows of kernels that differ in parameters: the values of each kernel, from distances that are computed once."""

import numpy as np
import pytest
import scipy.sparse as sp
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.shared_rows import SharedRows, rows_of_kernels
from mercer.solvers.svm.workspace import Options

import mercer as mc
from mercer.solvers.svm.rows import FusedRows, SparseRows


@pytest.mark.parametrize(("n", "dtype"), [(90, np.float64), (400, np.float32)])
@pytest.mark.parametrize(
    "kernels",
    [[mc.Gaussian(0.1), mc.Gaussian(2.0)], [mc.Polynomial(2, 0.1, 1.0), mc.Polynomial(2, 0.5, 1.0)]],
    ids=["radial", "dot"],
)
def test_rows_and_products_are_those_of_each_kernel(kernels, n, dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, R, J = rng.standard_normal((n, 5)), rng.permutation(n)[: n // 2], rng.permutation(n)[: n // 3]
    weights = rng.standard_normal((len(J), 2))
    seen = list(rows_of_kernels(kernels, X, Options(1e-3)))
    assert seen[0][0].__dict__["_kept"] is seen[1][0].__dict__["_kept"]
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    for kernel, (rows, left) in zip(kernels, seen, strict=True):
        assert type(rows) is SharedRows
        assert rows.dtype == dtype
        assert left.budget == Options(1e-3).budget - n**2 * rows.dtype.itemsize
        K, out = kernel(X), np.empty((len(R), len(J)), dtype)
        rows.columns(J)(R, out)
        np.testing.assert_allclose(out, K[np.ix_(R, J)], rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(rows.product(R, J, weights), K[np.ix_(R, J)] @ weights, rtol=0, atol=1e3 * tolerance)
        np.testing.assert_allclose(rows.diagonal, np.diagonal(K), rtol=1e-12)


def test_nothing_is_kept_for_one_kernel_beyond_the_memory_or_without_distances():
    X = np.random.default_rng(0).standard_normal((300, 4))
    two = [mc.Gaussian(0.1), mc.Gaussian(1.0)]
    needed = 3 * 300**2 * 4
    for kernels, points, memory, kind in (
        (two, X, needed, SharedRows),
        (two, X, needed - 1, FusedRows),
        (two[:1], X, "1GB", FusedRows),
        (two, sp.csr_matrix(X), "1GB", SparseRows),
        ([mc.Laplacian(0.1), mc.Laplacian(1.0)], X, "1GB", PlainRows),
    ):
        options = Options(1e-3, memory=memory)
        for rows, left in rows_of_kernels(kernels, points, options):
            assert type(rows) is kind
            assert (left is options) == (kind is not SharedRows)


@pytest.mark.parametrize("kind", [FusedRows, SharedRows])
@pytest.mark.parametrize("gamma", [1e39, 1e300])
def test_parameters_beyond_float32_are_its_largest(kind, gamma):
    X = np.repeat(np.random.default_rng(0).integers(9, size=(100, 4)), 2, axis=0).astype(float)
    everything, out = np.arange(200), np.empty((200, 200), np.float32)
    kind(mc.Gaussian(gamma), X, np.float32).columns(everything)(everything, out)
    # products round squared distances of equal rows
    different = (X[:, None] != X).any(axis=2)
    assert np.isfinite(out).all()
    assert not out[different].any()
