"""Kernel principal components: the eigenproblem H K H a = lambda a, and the vectors of feature space that follow."""

from dataclasses import dataclass, replace

import numpy as np

from mercer._common import warn
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


def restricted(basis, origin, pairs, n, whiten=False, *, n_points, total):
    """Return the n leading of the principal axes of projections onto the span of landmarks, all when n is None.

    ``basis`` are the axes, ``pairs`` the eigenpairs of the scatter of n_points projections about their mean ``origin``.
    """
    rank = len(pairs.values)
    if n is not None and n > rank:
        warn(f"n_components = {n} exceeds the rank {rank} of the projections onto the landmarks; {rank} are returned.")
    kept = slice(0, n)
    values, expansion = pairs.values[kept], basis[:, kept]
    if whiten:
        coef = expansion.coef / np.sqrt(values / n_points).astype(expansion.coef.dtype)
        expansion = Expansion(expansion.kernel, expansion.points, coef)
    pairs = replace(pairs, values=values, vectors=pairs.vectors[:, kept], residuals=pairs.residuals[kept])
    return Components(pairs, expansion, -origin.inner(expansion)[0], origin, total)


def residuals(psi, intercept, vectors, values, scale):
    """Return |s_k y_k - lambda_k v_k| / lambda_1 (m,), with y_k the inner products of the points with psi_k, plus b_k.

    With psi_k = sum_i v_ik phi_i / s_k and b_k = -<mu, psi_k> these are the residuals of H K H v_k = lambda_k v_k.
    """
    errors = scale * (psi(psi.points) + intercept) - vectors * values
    return np.linalg.norm(errors, axis=0) / np.max(values)
