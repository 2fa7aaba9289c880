"""Problems of fitting few vectors to outputs on data, and their least-squares optimum by LAPACK."""

import numpy as np


def problem(seed, n=200, m=2, p=4, d=3):
    rng = np.random.default_rng(seed)
    X, F = rng.normal(size=(n, d)), rng.normal(size=(n, m))
    return (
        rng,
        X,
        F,
        np.sign(rng.normal(size=(n, m))),
        rng.normal(size=(p, d)),
        rng.normal(size=(p, m)),
    )


def exact(kernel, X, F, Z, ridge):
    """The least-squares objective per row with the best coefficients, by LAPACK in float64."""
    K = kernel(X, Z)
    A = np.vstack(
        [
            np.column_stack([K, np.ones(len(X))]),
            np.sqrt(len(X) * ridge) * np.eye(len(Z), len(Z) + 1),
        ]
    )
    B = np.linalg.lstsq(A, np.vstack([F, np.zeros((len(Z), F.shape[1]))]), rcond=None)[0]
    return np.sum((A @ B - np.vstack([F, np.zeros((len(Z), F.shape[1]))])) ** 2) / len(X), B
