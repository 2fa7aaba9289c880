"""Empirical kernel map: kernel values with an evaluation set, whitened so that dot products are kernel values."""

import numpy as np
import scipy.linalg

from mercer._common import Array, ArrayLike, Memory, Seed, check_flag
from mercer._compute.points import as_rows
from mercer.expansion import Expansion, require_symmetric
from mercer.maps.coordinates import Coordinates, coordinates_about, origin_of, whole_spectrum


def whitened(
    phi: Expansion, centre: bool = False, *, memory: Memory = "1GB", random_state: Seed = None
) -> Coordinates:
    r"""Return the empirical kernel map of an evaluation set, whitened: K^(-1/2) k(x).

    .. math:: \Phi_m(x) = K^{-1/2} (k(x, z_1), \dots, k(x, z_m))', \qquad \Phi_m(z_i)'\Phi_m(z_j) = k(z_i, z_j)

    with the pseudo-inverse where K is singular, and with H K H and the centred k(x) when centred. The map without
    whitening, k(x, z_1), ..., k(x, z_m), is ``features(kernel, Z)(X)``; it is a feature map for the dot product
    <u, v> = u'A v with A = ``basis.coef @ basis.coef.T``, for which K A K = K.

    Parameters
    ----------
    phi : Expansion
        m vectors, the features of the evaluation set: the training points or landmarks.
    centre : bool
        Take their mean as origin.
    memory : str or int
        Memory limit of the m x m matrix.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Coordinates
        m coordinates, a rotation of the spectral coordinates with equal centring.

    Raises
    ------
    MemoryError
        When the m x m matrix exceeds the limit.

    Warns
    -----
    UserWarning
        When the kernel is indefinite on the evaluation set; negative eigenvalues are not used.

    Notes
    -----
    O(m^3), and m kernel values per new point. Eigenvalues below m eps lambda_max count as 0. Of other points, dot
    products are the inner products of the projections onto the span of the evaluation set.

    References
    ----------
    Schoelkopf, Mika, Burges, Knirsch, Mueller, Raetsch, Smola, *Input space versus feature space in kernel-based
    methods*, IEEE TNN 10 (1999), section II-C.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.maps import whitened
    >>> Z, kernel = np.array([[0.0], [1.0]]), mc.Gaussian(1.0)
    >>> values = whitened(mc.features(kernel, Z))(Z)
    >>> np.allclose(values @ values.T, kernel(Z))
    True
    """
    require_symmetric("phi", phi)
    check_flag("centre", centre)
    V, values = whole_spectrum(phi, centre, memory, random_state)
    root = (V / np.sqrt(values).astype(V.dtype)) @ V.T
    # V is an isometry, so all formulas of an orthonormal basis hold
    return coordinates_about(origin_of(phi, centre), phi @ root)


def nonsymmetric_whitening(K: ArrayLike) -> Array:
    r"""Return the whitening matrix of a nonsymmetric kernel, (K K')^(-1/4).

    .. math:: W = (K K')^{-1/4}, \qquad (W K)'(W K) = (K'K)^{1/2}

    A symmetric positive semidefinite K gives W = K^(-1/2), as ``whitened``. The columns of ``W @ k(Z, X)`` are the
    images of new points.

    Parameters
    ----------
    K : array (m, n)
        Values k(z_i, x_j); the rows belong to the evaluation set.

    Returns
    -------
    array (m, m)
        Symmetric; singular values below max(m, n) eps of the largest count as 0.

    Raises
    ------
    ValueError
        When K is not finite, or 0.

    Notes
    -----
    One singular value decomposition, O(m n min(m, n)).

    References
    ----------
    Schoelkopf et al. (1999), section II-C: nonsymmetric kernels work with K'K.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import nonsymmetric_whitening
    >>> nonsymmetric_whitening(np.array([[4.0, 0.0], [0.0, -9.0]])).round(4)
    array([[0.5   , 0.    ],
           [0.    , 0.3333]])
    """
    K = as_rows(K, "K")
    left, s, _ = scipy.linalg.svd(K, full_matrices=False, check_finite=False)
    kept = s > max(K.shape) * np.finfo(K.dtype).eps * s[0]
    if not kept.any():
        raise ValueError("K must not be 0; it has no inverse root.")
    return (left[:, kept] / np.sqrt(s[kept])) @ left[:, kept].T
