"""Matrices of prescribed spectra, and the check of the eigenpairs of one."""

import numpy as np

N = 300


def matrix(values, seed=0):
    """Return a symmetric matrix with the given eigenvalues and its eigenvectors, in the same order."""
    V = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (V * values) @ V.T, V


SPECTRA = {
    "decaying": 0.8 ** np.arange(N),
    "slow": 1 / np.arange(1.0, N + 1),
    "flat": np.linspace(2, 1, N),
    "clustered": np.r_[1 + 1e-9 * np.arange(8), 0.5 + 1e-7 * np.arange(20), np.zeros(N - 28)],
    "repeated": np.r_[np.full(10, 2.0), np.full(N - 10, 1.0)],
    "low rank": np.r_[3.0, 2.0, 1.0, np.zeros(N - 3)],
    "indefinite": np.r_[np.linspace(1, 0.1, 20), np.zeros(N - 40), np.linspace(-0.1, -5, 20)],
    "negative": -np.linspace(1, 2, N),
    "identity": np.ones(N),
    "zero": np.zeros(N),
}


class Counted:
    """An operator with the least protocol, which counts its products."""

    def __init__(self, K):
        self.K, self.shape, self.dtype, self.products = K, K.shape, K.dtype, 0

    def __matmul__(self, V):
        self.products += 1
        return self.K @ V


def assert_certified(K, pairs, k, tol=None):
    """Assert the residuals, orthonormality and values that the record states."""
    norm = max(np.linalg.norm(K, 2), np.finfo(float).tiny)
    V = pairs.vectors.astype(float)
    residuals = np.linalg.norm(K @ V - V * pairs.values, axis=0) / norm
    assert pairs.vectors.shape == (len(K), k)
    assert (residuals <= 2 * (pairs.tol if tol is None else tol)).all()
    assert np.abs(V.T @ V - np.eye(k)).max() < 1e-12
    assert (np.diff(pairs.values) <= 1e-14 * norm).all()
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(K)[::-1][:k], atol=2e-12 * norm)
