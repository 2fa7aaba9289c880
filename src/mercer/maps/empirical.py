"""The empirical kernel map: points as their kernel values with an evaluation set, whitened so that dot products are
kernel values.
"""

import numpy as np
import scipy.linalg

from mercer._compute.points import as_rows
from mercer.expansion import mean
from mercer.maps.coordinates import coordinates_about, whole_spectrum, zero


def whitened(phi, centre=False, *, memory="1GB", random_state=None):
    r"""Return the whitened empirical kernel map with regard to a block of vectors, K^(-1/2) k(x).

    .. math:: \Phi_m(x) = K^{-1/2} (k(x, z_1), \dots, k(x, z_m))', \qquad \Phi_m(z_i)'\Phi_m(z_j) = k(z_i, z_j)

    with the pseudo-inverse where K is singular, and with H K H and the centred k(x) when centred. The plain map is the
    block itself: ``features(kernel, Z)(X)`` are the values k(x, z_j). The dot product that makes the plain map a
    feature map is <u, v> = u'A v with A = ``basis.coef @ basis.coef.T``: K A K = K.

    Parameters
    ----------
    phi : Expansion
        m vectors, the features of the evaluation set: the training points, or few that stand for them.
    centre : bool
        Take their mean as origin.
    memory : str or int
        Bytes that the m x m matrix may take.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    Coordinates
        m coordinates, as many as vectors; a rotation of the spectral coordinates with equal centring.

    Raises
    ------
    MemoryError
        When the m x m matrix is larger than the budget.

    Warns
    -----
    UserWarning
        When the kernel is indefinite on the evaluation set; its negative part is cut.

    Notes
    -----
    O(m^3), and m kernel values per new point. Eigenvalues below m eps lambda_max count as 0. On points outside the
    evaluation set dot products are kernel values of the projections onto its span.

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
    V, values = whole_spectrum(phi, centre, memory, random_state)
    root = (V / np.sqrt(values).astype(V.dtype)) @ V.T
    # the rows of V are the coordinates of an isometry, which leaves all formulas of an orthonormal basis as they are
    return coordinates_about(mean(phi) if centre else zero(phi), phi @ root)


def nonsymmetric_whitening(K):
    r"""Return the matrix that makes kernel values of a nonsymmetric k a feature map, (K K')^(-1/4).

    .. math:: W = (K K')^{-1/4}, \qquad (W K)'(W K) = (K'K)^{1/2}

    A symmetric positive semidefinite K gives W = K^(-1/2), the whitened map. New points are mapped by
    ``W @ k(Z, X)``, a column each.

    Parameters
    ----------
    K : array (m, n)
        Values k(z_i, x_j) with the evaluation set along the rows.

    Returns
    -------
    array (m, m)
        Symmetric; singular values below max(m, n) eps of the largest count as 0.

    Raises
    ------
    ValueError
        When K is not a finite matrix, or 0.

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
        raise ValueError("K is 0: there is nothing to whiten.")
    return (left[:, kept] / np.sqrt(s[kept])) @ left[:, kept].T
