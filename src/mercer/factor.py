"""Factorisations of a block of vectors of the feature space: singular value decomposition and QR."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._common import (
    AnyFunction,
    Array,
    Memory,
    Seed,
    as_float64,
    check_flag,
    check_integer,
    record,
    relative_tolerance,
    shown,
    warn,
)
from mercer._compute.costs import COLUMNS
from mercer._compute.devices import anywhere
from mercer._compute.memory import (
    Route,
    Size,
    Work,
    beyond_tiles,
    first_that_fits,
    human_bytes,
    parse_memory,
)
from mercer._compute.symmetric import count_values, working_bytes
from mercer.expansion import Expansion, require_symmetric
from mercer.kernels.base import Kernel
from mercer.linalg import cholesky, eigh, lanczos, lapack
from mercer.linalg.eigh import Eigenpairs
from mercer.linalg.lanczos import smallest
from mercer.linalg.operators import (
    INACCURATE,
    NEGATIVE,
    NOISE,
    Centred,
    InnerProducts,
    Operator,
    Projected,
    Weighted,
    epsilon,
)

# Time of a product of a stored matrix with few columns, against that of as many operations of a square product.
_NARROW = 2.0
_FITS = "half of the matrix fits memory = {memory}"
_route = partial(Route, instead="fewer components, landmarks=, or a larger memory=")
_REMEDY = "give points that differ, a smaller bandwidth, or, for points far from the origin, subtract their mean"


@anywhere
def svd(
    phi: Expansion,
    n: int | None,
    centre: bool = True,
    *,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> tuple[Expansion, Array]:
    r"""Return the n leading left singular vectors and singular values of a block: its principal components.

    .. math:: \Phi H = U \, \mathrm{diag}(s) \, V', \qquad U = \Phi V \mathrm{diag}(1/s), \qquad H = I - 11'/m

    with H = I when not centred.

    Parameters
    ----------
    phi : Expansion
        m vectors.
    n : int or None
        Number of singular vectors; None for as many as the rank.
    centre : bool
        Subtract the mean of the vectors first.
    memory : str or int
        Memory limit of a stored m x m matrix.
    random_state : int, RandomState, Generator or None
        Start of the iterative solver.

    Returns
    -------
    U : Expansion
        n orthonormal vectors in the span of the (centred) vectors. Over features the coefficients are V / s; when
        centred each column of them has sum 0. The largest entry of each column of V is positive.
    s : array (n,)
        Descending. The squares are the eigenvalues of the (centred) matrix of inner products.

    Raises
    ------
    ValueError
        When all vectors are equal (centred) or zero (not centred) up to rounding.
    MemoryError
        When a matrix must be stored and exceeds the limit.

    Warns
    -----
    UserWarning
        When n exceeds the numerical rank. When the kernel is indefinite on these points, with lambda_min /
        lambda_max, the same for every n; only the positive eigenvalues are used.
    ConvergenceWarning
        When an eigenpair does not reach its tolerance, or rounding of kernel values exceeds 1e-4 times the largest
        eigenvalue: points far from the origin, or features that are nearly equal.

    Notes
    -----
    Dense LAPACK for at most 2 000 vectors (less than 1 000 if n <= m / 64) or n >= m / 8, O(m^3). Otherwise block
    Lanczos from the components of evenly spaced vectors, about eight products with the matrix. Half of it is stored
    where this fits the limit, in the type of the points; beyond it each product evaluates up to m^2 kernel values.
    Eigenvalues below m eps max(lambda_max, 8 max |phi_i|^2) are cut. The vectors U are orthonormal to about eps (s_1 /
    s_n)^2.

    References
    ----------
    Schoelkopf, Smola, Mueller, *Nonlinear component analysis as a kernel eigenvalue problem*, Neural Comp. 10 (1998),
    eq. (8)-(14).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> U, s = svd(mc.features(mc.Linear(), np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])), 1)
    >>> s**2, U.norms()
    (array([50.]), array([1.]))
    """
    require_symmetric("phi", phi)
    check_flag("centre", centre)
    pairs = eigenpairs(phi, Wanted(n), centre, memory=memory, random_state=random_state)
    s = np.sqrt(pairs.values).astype(pairs.vectors.dtype)
    return phi @ (pairs.vectors / s), s


def routes(size: Size, n: int | None) -> list[Route]:
    """Return the routes to the n leading eigenpairs of inner products of vectors, all for None.

    ``run(inner)`` returns the matrix in the form that the solver takes.
    """
    m = size.n
    k = m if n is None else min(n, m)
    if lanczos.is_dense(m, k, size.budget):
        many = (
            "all components are wanted" if n is None else f"n_components = {n} are many of n = {m}"
        )
        reason = f"n = {m} is small" if m <= eigh.DENSE_ORDER else many
        work = Work(2.0 * m * m) + eigh.dense_work(m, k)
        return [
            _route("dense", reason, eigh.dense_bytes(m, k), work, InnerProducts.held, block=(m, m))
        ]
    basis = lanczos.basis_bytes(m, k)
    width = lanczos.block_width(k)
    n_products = lanczos.products(k)
    flops = n_products * (2.0 * m * m * width + 4.0 * m * lanczos.basis_size(k) * width)
    assumed = f"{n_products:.0f} products"
    # products are in the type of the points
    share = size.itemsize / 8
    matrix = size.itemsize * count_values(m)
    kept = Work(m**2, _NARROW * flops, assumed=assumed) * share
    again = Work((n_products + 1.0) * m * m / 2, flops, assumed=assumed) * share
    beyond = f"half of the matrix, {human_bytes(matrix)}, exceeds memory = {{memory}}"
    needed = basis + working_bytes(m, width)
    return [
        _route(
            "stored",
            _FITS,
            matrix + basis,
            kept,
            InnerProducts.stored,
            matrix,
            block=(COLUMNS, COLUMNS),
        ),
        _route(
            "lazy", beyond, needed, again, lambda inner: inner, beyond_tiles(needed), block=(m, m)
        ),
    ]


def inner_products(phi: Expansion, n: int | None, memory: Memory) -> Operator:
    """Return the matrix of inner products in the form that the solver of n eigenpairs takes."""
    inner = InnerProducts(phi, memory)
    budget = parse_memory(memory)
    size = Size(len(phi), budget, np.dtype(inner.dtype).itemsize)
    return first_that_fits(routes(size, n), budget).run(inner)


@record
class Wanted:
    """A number of eigenpairs, all for None, its name for the user, and the error where no eigenvalue is positive."""

    n: int | None
    name: str = "n"
    message: Callable[[], str] = str

    def __post_init__(self) -> None:
        if self.n is not None:
            # sums and products of a narrow scalar of NumPy would overflow, also in ARPACK, which then leaves its memory
            object.__setattr__(self, "n", check_integer(self.name, self.n))


def eigenpairs(
    phi: Expansion,
    wanted: Wanted,
    centre: bool = True,
    *,
    weights: Array | None = None,
    inner: Operator | None = None,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Eigenpairs:
    """Return the leading eigenpairs of the (centred) matrix of inner products, cut to its numerical rank.

    Parameters, errors and warnings as for ``svd``; ``inner`` is the matrix of `inner_products`. With positive weights
    w (m,) the matrix is W^(1/2) H K H' W^(1/2), H = I - 1 w' / sum w.
    """
    m = len(phi)
    root = None if weights is None else np.sqrt(weights)[:, None]
    unit = None if root is None else root / np.linalg.norm(root)

    def message():
        return (
            f"no variance: the {m} vectors are {'equal' if centre else 'zero'} up to rounding under the kernel "
            f"{shown(phi.kernel)}, with squared norms up to {norm:.1e}; {_REMEDY}"
        )

    inner = inner_products(phi, wanted.n, memory) if inner is None else inner
    norm = float(np.max(as_float64(inner.diagonal())))
    operator = inner
    if root is not None:
        operator = Weighted(operator, root[:, 0])
        norm *= float(weights.max())
    if centre:
        operator = Centred(operator) if root is None else Projected(operator, unit)
    pairs = positive_eigenpairs(
        operator,
        replace(wanted, message=message),
        phi.kernel,
        norm=norm,
        memory=memory,
        random_state=random_state,
    )
    # roundings of m^2 values are independent
    noise = m**0.5 * epsilon(operator) * norm / float(pairs.values[0])
    if noise > INACCURATE:
        warn(
            f"principal components are accurate to a share of {noise:.1g} only: rounding of k(x, x) up to {norm:.1e} "
            f"meets a largest eigenvalue of {float(pairs.values[0]):.1e}; {_REMEDY}.",
            ConvergenceWarning,
        )
    vectors = pairs.vectors.astype(inner.dtype)
    if centre:
        # division by a small singular value amplifies the mean that rounding leaves
        rest = vectors.mean(axis=0) if root is None else unit * (unit.T @ vectors)
        vectors = vectors - rest.astype(vectors.dtype)
    if root is not None:
        # those of repeated vectors
        vectors = vectors * eigh.signs(vectors / root)
    return replace(pairs, vectors=vectors)


def positive_eigenpairs(
    operator: Operator,
    wanted: Wanted,
    kernel: Kernel,
    *,
    norm: float = 0.0,
    memory: Memory,
    random_state: Seed,
) -> Eigenpairs:
    """Return the leading eigenpairs with eigenvalues above m eps max(lambda_max, 8 norm), as many as are wanted.

    ``operator`` is a matrix of kernel values, ``norm`` their size where centring has cancelled it. Warns when the
    kernel is indefinite or the number exceeds the rank.
    """
    m = operator.shape[0]
    n = wanted.n
    k = m if n is None else min(n, m)
    proved = kernel.tags.positive_semidefinite is True
    whole = operator
    if not proved and m < eigh.DENSE_ORDER and 8 * m * m <= parse_memory(memory):
        # a factor, or the least eigenvalue, needs the array
        whole = operator.dense()
    matrix, pairs = lanczos.leading(whole, k, memory=memory, random_state=random_state)
    largest = float(pairs.values[0])
    floor = m * epsilon(operator) * max(largest, NOISE * norm)
    if not proved and isinstance(matrix, np.ndarray):
        # with a factor there is no eigenvalue below -floor; it takes a tenth of the time of the least one
        proved = lapack.factorise_shifted(matrix.astype(np.float64).T, [floor]) is not None
    if not proved:
        # the same for every number of components
        least = smallest(matrix, random_state=random_state).value
        if least < -floor:
            share = least / largest if largest > 0 else -np.inf
            warn(
                f"{type(kernel).__name__} is indefinite on these points: lambda_min / lambda_max = {share:.3g}; "
                "negative eigenvalues are not used."
            )
    rank = np.count_nonzero(pairs.values > floor)
    if rank == 0:
        raise ValueError(f"{wanted.message()} (largest eigenvalue {largest:.1e}).")
    if n is not None and rank < n:
        warn(
            f"{wanted.name} = {n} exceeds the numerical rank {rank} of {m} vectors; {rank} are returned."
        )
    kept = slice(0, rank if n is None else min(rank, n))
    return pairs.take(kept)


def qr(
    phi: Expansion, tol: float | None = None, *, memory: Memory = "1GB"
) -> tuple[Expansion, Array]:
    r"""Return a rank-revealing QR factorisation of a block, phi = Q R with orthonormal vectors Q.

    From the pivoted Cholesky factor P'MP = F F' of the inner products, Q = phi[:, pivots] F_p^-T; a second
    orthonormalisation uses the Cholesky factor of the inner products of Q.

    Parameters
    ----------
    phi : Expansion
        m vectors.
    tol : float, optional
        A vector whose squared distance to the span of the selected ones is at most ``tol`` times the largest squared
        norm counts as dependent; eps^(1/2) of the type by default.
    memory : str or int
        Memory limit of the inner products of a block with coefficients.

    Returns
    -------
    Q : Expansion
        r orthonormal vectors over the points of phi.
    R : array (r, m)
        The inner products <q_i, phi_j>; its columns at the pivots are upper triangular.

    Raises
    ------
    ValueError
        When all vectors are 0, or ``tol`` is not from 0 to below 1.

    Notes
    -----
    |Q'Q - I| is about eps / tol, since inner products are known to eps, and |phi_j - Q r_j|^2 is at most tol |phi|^2.
    The default balances the two errors. O(m r) kernel values and O(m r^2) operations over features.

    References
    ----------
    Fukaya, Kannan, Nakatsukasa, Yamamoto, Yanagisawa, *Shifted CholeskyQR*, SIAM J. Sci. Comput. 42 (2020).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> Q, R = qr(mc.features(mc.Linear(), np.array([[3.0, 4.0], [6.0, 8.0]])))
    >>> len(Q), R
    (1, array([[ 5., 10.]]))
    """
    return orthonormalised(phi, tol, memory, "phi")


@anywhere
def orthonormalised(
    phi: Expansion,
    tol: float | None,
    memory: Memory,
    name: str,
    factorise: AnyFunction = cholesky.pivoted,
) -> tuple[Expansion, Array]:
    """Return the factorisation of ``qr`` from a partial Cholesky factor, of vectors that the user gave as ``name``."""
    require_symmetric(name, phi)
    parse_memory(memory)
    inner = InnerProducts(phi, memory)
    tol = relative_tolerance(tol, epsilon(inner) ** 0.5)
    # with coefficients one column of inner products costs as much as the whole matrix
    gram = inner if phi.coef is None else np.asarray(inner.dense(), inner.dtype)
    part = factorise(gram, tol=tol)
    if not len(part.pivots):
        raise ValueError(
            f"{name} must contain a vector that is not 0; all {len(phi)} vectors are 0."
        )
    own = as_float64(inner.diagonal())
    least = (own - np.square(part.factor).sum(axis=1)).min()
    proved = phi.kernel.tags.positive_semidefinite is True
    if not proved and least < -NEGATIVE * own.max():
        warn(
            f"{type(phi.kernel).__name__} is indefinite on these points: squared distances of {name} from its span "
            f"reach {least:.3g}, and projections may be anywhere; use a positive semidefinite kernel."
        )
    corner = part.factor[part.pivots]
    pivots = phi[:, part.pivots]
    C = cholesky.inverse_transpose(corner)
    L, _ = cholesky.jittered(C.T @ as_float64(pivots.inner(pivots @ C)))
    coef = np.zeros((len(phi), len(C)), dtype=inner.dtype)
    coef[part.pivots] = C @ cholesky.inverse_transpose(L)
    return phi @ coef, (L.T @ part.factor.T).astype(inner.dtype)
