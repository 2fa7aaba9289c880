"""Sparse rows of many columns, most of them empty."""

import numpy as np
import scipy.sparse as sp


def sample(n, seed):
    """Return dense rows, most of whose entries are 0, and their labels or targets."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, 60, 0.2, "csr", random_state=seed).toarray()
    return X, X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=n)


def spread(X, d):
    """Return rows as sparse ones of d columns, most of which are empty."""
    X = sp.csr_matrix(X)
    indices = X.indices.astype(np.int64) * (d // X.shape[1])
    return sp.csr_matrix((X.data, indices, X.indptr), (X.shape[0], d))
