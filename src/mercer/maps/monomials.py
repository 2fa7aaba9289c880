"""Monomial features: all products of d entries of a point; their dot product is (x.z + c)^d."""

import math
from itertools import chain, combinations_with_replacement
from typing import Any

import numpy as np

from mercer._common import Array, ArrayLike, Memory, check_flag, check_integer, check_number, shown
from mercer._compute.memory import require_memory
from mercer._compute.points import as_rows

# Of this degree and more, the products of two variables exceed any memory.
_HIGH = 64


def monomial_count(n_variables: int, degree: int, inhomogeneous: bool = False) -> int:
    """Return the number of different monomials of a degree, (N + d - 1)! / (d! (N - 1)!).

    Parameters
    ----------
    n_variables : int
    degree : int
    inhomogeneous : bool
        Count the monomials of all degrees up to d, those of (x.z + c)^d: (N + d)! / (d! N!).

    Returns
    -------
    int

    References
    ----------
    Schoelkopf, Smola, Mueller, *Kernel principal component analysis*, ICANN (1997), section 3, where the factorial of
    the denominator is misprinted.

    Examples
    --------
    >>> from mercer.maps import monomial_count
    >>> monomial_count(256, 5)
    9525431552
    """
    check_integer("n_variables", n_variables)
    check_integer("degree", degree)
    check_flag("inhomogeneous", inhomogeneous)
    return math.comb(n_variables + degree - (not inhomogeneous), degree)


def ordered_monomials(
    X: ArrayLike, degree: int, *, coef0: float = 0.0, memory: Memory = "1GB"
) -> Any:
    """Return all ordered products x_i1 ... x_id of the entries of each point.

    Parameters
    ----------
    X : array (n, N)
    degree : int
        d, at least 1.
    coef0 : float
        c, at least 0; above 0, sqrt(c) is one more variable.
    memory : str or int
        Memory limit of the products.

    Returns
    -------
    array (n, N^d)
        With dot products (x.z + c)^d, N + 1 in place of N if c > 0. Column
        i_1 N^(d-1) + ... + i_d is the product above, with indices from 0.

    Raises
    ------
    MemoryError
        When the products exceed the limit.
    ValueError
        When a product overflows.

    References
    ----------
    Schoelkopf, Smola, Mueller (1997), eqs. (7) and (8).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import ordered_monomials
    >>> ordered_monomials(np.array([[2.0, 3.0]]), 2)
    array([[4., 6., 6., 9.]])
    """
    X = _variables(X, coef0)
    check_integer("degree", degree)
    n, N = X.shape
    # two tables of products are in memory at a time
    what = f"{'or more ' if degree > _HIGH else ''}ordered products of {degree} of {N} variables"
    _require(X, N ** min(degree, _HIGH), 2 * n * X.dtype.itemsize, what, memory)
    # of degree 1 too an array of its own
    products = np.array(X)
    with np.errstate(over="ignore"):
        for _ in range(degree - 1):
            products = (products[:, :, None] * X[:, None, :]).reshape(n, -1)
    return _finite(products, degree)


def unordered_monomials(
    X: ArrayLike, degree: int, *, coef0: float = 0.0, memory: Memory = "1GB"
) -> Array:
    r"""Return the different monomials of each point, times the square roots of their multinomial coefficients.

    .. math:: \sqrt{d! / (e_1! \cdots e_N!)}\; x_1^{e_1} \cdots x_N^{e_N}, \qquad e_1 + \dots + e_N = d

    Parameters
    ----------
    X : array (n, N)
    degree : int
        d, at least 1.
    coef0 : float
        c, at least 0; above 0, sqrt(c) is one more variable.
    memory : str or int
        Memory limit of the monomials and their indices.

    Returns
    -------
    array (n, (N + d - 1)! / (d! (N - 1)!))
        With dot products (x.z + c)^d, N + 1 in place of N if c > 0.

    Raises
    ------
    MemoryError
        When the monomials exceed the limit.
    ValueError
        When a product overflows.

    References
    ----------
    Schoelkopf, Smola, Mueller (1997), the map after eq. (8).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import unordered_monomials
    >>> unordered_monomials(np.array([[2.0, 3.0]]), 2)
    array([[4.  , 8.49, 9.  ]])
    """
    X = _variables(X, coef0)
    n, N = X.shape
    count = monomial_count(N, degree)
    # two tables of products, and for each monomial its indices and multinomial coefficient
    each = 2 * n * X.dtype.itemsize + 8 * (degree + 4)
    _require(X, count, each, f"monomials of degree {degree} in {N} variables", memory)
    indices = chain.from_iterable(combinations_with_replacement(range(N), degree))
    indices = np.fromiter(indices, np.intp, count * degree).reshape(count, degree)
    products = np.ones((n, count), dtype=X.dtype)
    orders = np.ones(count)
    run = np.ones(count)
    with np.errstate(over="ignore"):
        for j in range(degree):
            products *= X[:, indices[:, j]]
            # the indices of a monomial are sorted; counting along runs of equal indices multiplies to e_1! ... e_N!
            run = np.where(indices[:, j] == indices[:, j - 1], run + 1, 1.0) if j else run
            orders *= (j + 1) / run
        products *= np.sqrt(orders).astype(X.dtype)
    return _finite(products, degree)


def _variables(X, coef0):
    """Return dense rows, with the square root of coef0 as one more column unless it is 0."""
    X = as_rows(X)
    if hasattr(X, "tocsr"):
        raise TypeError("X must be dense for monomials; pass X.toarray().")
    check_number("coef0", coef0)
    if coef0 < 0:
        raise ValueError(
            f"coef0 = {shown(coef0)} must be at least 0; its square root is a variable."
        )
    if not coef0:
        return X
    return np.column_stack([X, np.full(len(X), math.sqrt(coef0), X.dtype)])


def _require(X, count, each, what, memory):
    subject = f"a table of {count} {what} for {len(X)} points"
    require_memory(
        count * each,
        memory,
        subject,
        "the kernel Polynomial(degree, 1, 0), which does not compute them",
    )


def _finite(products, degree):
    if not np.isfinite(products).all():
        raise ValueError(
            f"products of degree {degree} overflow {products.dtype}; scale X (StandardScaler) and lower coef0."
        )
    return products
