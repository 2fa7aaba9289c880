"""Kernel principal components: the eigenproblem H K H a = lambda a, and the vectors of feature space that follow."""

from dataclasses import dataclass

import numpy as np

from mercer.expansion import Expansion, mean, squares
from mercer.factor import eigenpairs
from mercer.linalg.eigh import Eigenpairs


@dataclass(frozen=True)
class Components:
    """Principal components u_k of n vectors about their mean mu: ``expansion``, whose ``intercept`` is -<mu, u_k>.

    ``pairs`` are the eigenpairs of H K H, and ``total`` its trace, the sum of all eigenvalues.
    """

    pairs: Eigenpairs
    expansion: Expansion
    intercept: np.ndarray
    mean: Expansion
    total: float


def components(phi, n, whiten=False, *, memory="1GB", random_state=None):
    """Return the n leading components of the features of points, all when n is None.

    u_k = sum_i v_ik phi_i / lambda_k^(1/2) has norm 1; whitened it is divided by (lambda_k / len(phi))^(1/2), the
    standard deviation of the scores.
    """
    pairs = eigenpairs(phi, n, name="n_components", memory=memory, random_state=random_state)
    dtype = pairs.vectors.dtype
    scale = np.sqrt(pairs.values).astype(dtype)
    if whiten:
        scale = scale * (scale / np.sqrt(len(phi)).astype(dtype))
    expansion, centre = phi @ (pairs.vectors / scale), mean(phi)
    # <mu, phi_i>: one product with the Gram matrix serves the trace and the intercept
    values = centre(centre.points)[:, 0].astype(np.float64)
    trace = float(np.sum(squares(phi), dtype=np.float64))
    intercept = -(values @ expansion.coef).astype(dtype)
    return Components(pairs, expansion, intercept, centre, trace - values.sum())


def residuals(psi, intercept, vectors, values, scale):
    """Return |s_k y_k - lambda_k v_k| / lambda_1 (m,), with y_k the inner products of the points with psi_k, plus b_k.

    With psi_k = sum_i v_ik phi_i / s_k and b_k = -<mu, psi_k> these are the residuals of H K H v_k = lambda_k v_k.
    """
    errors = scale * (psi(psi.points) + intercept) - vectors * values
    return np.linalg.norm(errors, axis=0) / np.max(values)
