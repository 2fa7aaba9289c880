"""Kernel principal components: the eigenproblem H K H a = lambda a, and the vectors of feature space that follow."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from mercer import factor
from mercer._common import Array, Memory, Seed, as_float64, check_integer, record, shown, warn
from mercer._compute.memory import Route, Size, parse_memory, required
from mercer.expansion import Expansion, over_points, squares
from mercer.linalg.eigh import Eigenpairs
from mercer.linalg.operators import Operator

_NAME = "n_components"
# Components that are computed first where a share of the variance is wanted.
LEAST = 32
_ASSUMED = f"{LEAST} components; the data decide how many hold the share, and so how much memory"


@record
class Components:
    """Principal components u_k of n vectors about their mean mu: ``expansion``, whose ``intercept`` is -<mu, u_k>.

    ``pairs`` are the eigenpairs of H K H, and ``total`` its trace, the sum of all eigenvalues.
    """

    pairs: Eigenpairs
    expansion: Expansion
    intercept: np.ndarray
    mean: Expansion
    total: float

    def whitened(self, n: float) -> Components:
        """Return them divided by the standard deviations (lambda_k / n)^(1/2) of the scores of n points."""
        psi = self.expansion
        scale = np.sqrt(self.pairs.values / n).astype(psi.coef.dtype)
        whitened = Expansion(psi.kernel, psi.points, psi.coef / scale)
        return replace(self, expansion=whitened, intercept=self.intercept / scale)


def check_components(n: float | None) -> None:
    """Raise unless n is None, a whole number of at least 1, or a share of the variance above 0 and below 1."""
    if n is None or _is_share(n):
        return
    if isinstance(n, Real) and not isinstance(n, Integral):
        raise TypeError(
            f"n_components must be a whole number, or a share of the variance above 0 and below 1, got {shown(n)} of "
            f"type {type(n).__name__}."
        )
    check_integer("n_components", n)


def routes(size: Size, n: float | None) -> list[Route]:
    """Return the routes to n components of points, see `factor.routes`; dense ones of a share are all computed."""
    first, share = _first(size.n, n)
    found = factor.routes(size, first)
    if not share:
        return found
    if found[0].name == "dense":
        return factor.routes(size, None)
    return [replace(each, work=replace(each.work, assumed=_ASSUMED)) for each in found]


def _first(m, n):
    """Return the number of components that are computed first, and whether n is a share, which may need more."""
    if _is_share(n):
        return min(LEAST, m), True
    return None if n is None else int(n), False


def components(
    phi: Expansion,
    n: float | None,
    centre: bool = True,
    weights: Array | None = None,
    *,
    inner: Operator | None = None,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Components:
    """Return the n leading components of the features of points, all when n is None.

    With positive weights w (m,) that of W^(1/2) H K H' W^(1/2), H = I - 1 w' / sum w, in which a weight is a number of
    repetitions. When not centred H = I and mu = 0. A share n in (0, 1) is that of the trace of HKH which the smallest
    number of components holds. u_k = sum_i v_ik phi_i / lambda_k^(1/2) has norm 1. ``inner`` are the inner products,
    from `routes`.
    """
    m = len(phi)
    dtype = phi.prepared.dtype
    shares = np.full(m, 1 / m) if weights is None else weights / weights.sum()
    at_mean = (centre * shares[:, None]).astype(dtype)
    at_mean.flags.writeable = False
    mean = over_points(phi.kernel, phi.prepared, at_mean)
    n_points = m if weights is None else float(weights.sum())
    least, share = _first(m, n)
    inner = factor.inner_products(phi, least, memory) if inner is None else inner
    # <mu, phi_i>: one product with the Gram matrix serves the trace and the intercept
    values = as_float64(inner @ at_mean)[:, 0] if centre else np.zeros(m)
    total = float(n_points * (shares @ (as_float64(squares(phi)) - values)))
    size = Size(m, parse_memory(memory), np.dtype(inner.dtype).itemsize)

    def leading(k):
        return factor.eigenpairs(
            phi,
            factor.Wanted(k, _NAME),
            centre,
            weights=weights,
            inner=inner,
            memory=memory,
            random_state=random_state,
        )

    pairs = _holding(leading, size, n, least, total) if share else leading(least)
    if not total > 0:
        raise ValueError(
            f"the {m} points have the variance {total / n_points:.3g} under the indefinite kernel {shown(phi.kernel)}; "
            "use centre=True, or a positive semidefinite kernel."
        )
    dtype = pairs.vectors.dtype
    scale = np.sqrt(pairs.values).astype(dtype)
    coef = (
        pairs.vectors
        if weights is None
        else np.sqrt(weights).astype(dtype)[:, None] * pairs.vectors
    )
    expansion = phi @ (coef / scale)
    return Components(pairs, expansion, -(values @ expansion.coef).astype(dtype), mean, total)


def _is_share(n):
    return isinstance(n, Real) and not isinstance(n, Integral) and 0 < n < 1


def _holding(leading, size, share, least, total):
    """Return the fewest of some ``leading(k)`` eigenpairs that hold a share of a sum, or raise a MemoryError.

    None of those that are left out is larger than the last: at least so many more are needed. All are computed where
    memory holds them and the dense solver finds the next.
    """
    m = size.n
    every = factor.routes(size, None)[0].fits(size.budget)
    k = least
    while True:
        route = factor.routes(size, k)[-1]
        if route.name == "dense" and every:
            k = m
        else:
            required([route], size, f"n_components = {share}, at least {k} components,")
        pairs = leading(None if k == m else k)
        missing = share * total - float(pairs.values.sum())
        if missing <= 0 or len(pairs.values) < k or k == m:
            return pairs.take(slice(fewest(pairs.values, share, total)))
        k = min(m, max(2 * k, k + math.ceil(missing / float(pairs.values[-1]))))


def fewest(values: Array, share: float, total: float) -> int:
    """Return the smallest number of eigenvalues, descending, that hold a share of a sum; all where none do."""
    return min(int(np.searchsorted(np.cumsum(values), share * total)) + 1, len(values))


def restricted(
    basis: Expansion,
    origin: Expansion,
    pairs: Eigenpairs,
    n: float | None,
    *,
    total: float,
) -> Components:
    """Return the n leading of the principal axes of projections onto the span of landmarks, as for ``components``.

    ``basis`` are the axes, ``pairs`` the eigenpairs of the scatter of projections about their mean ``origin``.
    """
    rank = len(pairs.values)
    if _is_share(n):
        held = float(pairs.values.sum()) / total
        if held < n:
            warn(
                f"n_components = {n} is a share of the variance above {held:.3g}, that of the span of the landmarks; "
                f"all {rank} components are returned; give more landmarks."
            )
        n = fewest(pairs.values, n, total)
    if n is not None and n > rank:
        warn(
            f"n_components = {n} exceeds the rank {rank} of the projections onto the landmarks; {rank} are returned."
        )
    pairs = pairs.take(slice(n))
    expansion = basis[:, slice(0, n)]
    return Components(pairs, expansion, -origin.inner(expansion)[0], origin, total)


def residuals(
    psi: Expansion,
    intercept: Array,
    vectors: Array,
    values: Array,
    scale: Array,
    weights: Array | None = None,
) -> Array:
    """Return |s_k y_k - lambda_k v_k| / lambda_1 (m,), with y_k the inner products of the points with psi_k, plus b_k.

    With psi_k = sum_i v_ik phi_i / s_k and b_k = -<mu, psi_k> these are the residuals of H K H v_k = lambda_k v_k; with
    weights w, y_k and phi_i are multiplied by w_i^(1/2).
    """
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    errors = scale * root * (psi(psi.points) + intercept) - vectors * values
    return np.linalg.norm(errors, axis=0) / np.max(values)
