"""Orthogonal projection of vectors of the feature space onto a span, and its error."""

from mercer._compute.namespace import namespace_of
from mercer.expansion import require_same_kernel
from mercer.factor import qr
from mercer.linalg.operators import InnerProducts, epsilon


def project(psi, onto, tol=None):
    r"""Return the orthogonal projection of each vector of psi onto the span of the vectors of another block.

    .. math:: P \psi = Q Q'\psi, \qquad \mathrm{onto} = Q R

    Parameters
    ----------
    psi : Expansion
        m vectors.
    onto : Expansion
        p vectors of the same feature space.
    tol : float, optional
        Rank decision of ``qr``; eps^(2/3) of the type when left out.

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
    What ``tol`` leaves out of the span costs tol^(1/2) in a projection, what it takes in costs eps / tol: the default
    makes the two equal, 4e-11 and 6e-6 in norm (float32: 2e-5 and 5e-3) where the vectors are nearly dependent.
    Values of the projection at points are far more accurate. Dependent vectors need nothing special.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.projection import project
    >>> k = mc.Linear()
    >>> onto = mc.features(k, np.array([[1.0, 0.0]]))
    >>> project(mc.features(k, np.array([[3.0, 4.0]])), onto).coef
    array([[3.]])
    """
    require_same_kernel(psi, onto)
    Q = _basis(onto, tol)
    return Q @ Q.inner(psi)


def projection_error(psi, onto, tol=None):
    """Return the distance |psi - P psi| of each vector of psi to the span of the vectors of another block.

    Parameters
    ----------
    psi : Expansion
        m vectors.
    onto : Expansion
        p vectors of the same feature space.
    tol : float, optional
        Rank decision of ``qr``; eps^(2/3) of the type when left out.

    Returns
    -------
    array (m,)
        From |psi|^2 - |P psi|^2, at least 0; below about eps^(1/2) |psi| it is rounding.

    Raises
    ------
    ValueError
        When the kernels differ or every vector of ``onto`` is 0.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.projection import projection_error
    >>> k = mc.Linear()
    >>> onto = mc.features(k, np.array([[1.0, 0.0]]))
    >>> projection_error(mc.features(k, np.array([[3.0, 4.0]])), onto)
    array([4.])
    """
    require_same_kernel(psi, onto)
    Q = _basis(onto, tol)
    coordinates = Q.inner(psi)
    xp = namespace_of(coordinates)
    squares = psi.norms() ** 2 - xp.sum(coordinates**2, axis=0)
    return xp.sqrt(xp.where(squares > 0, squares, xp.zeros_like(squares)))


def _basis(onto, tol):
    return qr(onto, epsilon(InnerProducts(onto)) ** (2 / 3) if tol is None else tol)[0]
