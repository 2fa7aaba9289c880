"""Orthogonal projection of vectors of the feature space onto the span of others."""

from mercer.expansion import Expansion, require_same_kernel
from mercer.factor import orthonormalised
from mercer.linalg.operators import InnerProducts, epsilon


def project(psi: Expansion, onto: Expansion, tol: float | None = None) -> Expansion:
    r"""Return the orthogonal projection of each vector of psi onto the span of the vectors of another block.

    .. math:: P \psi = Q Q'\psi, \qquad \mathrm{onto} = Q R

    Parameters
    ----------
    psi : Expansion
        m vectors.
    onto : Expansion
        p vectors of the same feature space.
    tol : float, optional
        Tolerance of ``qr`` for dependent vectors; eps^(2/3) of the type by default.

    Returns
    -------
    Expansion
        m vectors over the points of ``onto``.

    Raises
    ------
    ValueError
        When the kernels differ or every vector of ``onto`` is 0.

    Notes
    -----
    Directions cut by ``tol`` give an error of tol^(1/2) in a projection, directions kept one of eps / tol. The default,
    4e-11 (float32: 2e-5), makes both about 6e-6 (5e-3) in norm where vectors are nearly dependent; values of the
    projection at points are far more accurate.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.projection import project
    >>> k = mc.Linear()
    >>> onto = mc.features(k, np.array([[1.0, 0.0]]))
    >>> project(mc.features(k, np.array([[3.0, 4.0]])), onto).coef
    array([[3.]])
    """
    require_same_kernel(psi, onto, ("psi", "onto"))
    tol = epsilon(InnerProducts(onto)) ** (2 / 3) if tol is None else tol
    Q, _ = orthonormalised(onto, tol, "1GB", "onto")
    return Q @ Q.inner(psi)
