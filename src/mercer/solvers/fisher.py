"""Kernel Fisher discriminants, from a ridge regression of class memberships."""

from dataclasses import replace

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mercer import landmarks, least_squares
from mercer._common import (
    EPS,
    TINY,
    Array,
    Memory,
    PointsLike,
    Seed,
    as_float64,
    check_nonnegative,
    check_weights,
    record,
    shown,
    warn,
)
from mercer._compute.memory import Route, Size, require_memory
from mercer._compute.normal import weighted_sums, widely
from mercer._compute.points import widened
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.least_squares import MatrixName, is_rounding, relative, relative_columns, solve
from mercer.linalg import cholesky, eigh
from mercer.linalg.operators import (
    INACCURATE,
    ROUNDINGS,
    InnerProducts,
    Projected,
    Weighted,
    in_float64,
    without,
)
from mercer.solvers.ridge import orthonormal_basis, restricted_bytes


@record
class Discriminants:
    """At most C - 1 directions that separate the means of C classes, in units of the scatter within them.

    ``intercept`` (m,) takes the mean of all points to 0, ``eigenvalues`` (m,) are the scatter between classes over the
    regularised scatter within, descending, and ``means`` (C, m) those of the classes, of the last one not negative.
    ``trace_error`` is the share of the weighted sum of k(x_i, x_i) outside of the span of landmarks.
    """

    expansion: Expansion
    intercept: np.ndarray
    eigenvalues: np.ndarray
    means: np.ndarray
    residual: float
    trace_error: float | None = None


def routes(size: Size, chosen: tuple[int, str] | None) -> list[Route]:
    """Return the routes to the directions: over all points, or over m landmarks that a rule selects."""
    if chosen is None:
        return [replace(each, run=discriminants) for each in least_squares.routes(size, False)]
    m, rule = chosen
    work = landmarks.sums(size.n, m)
    return [landmarks.route(restricted, size, m, rule, eigh.ALL - 0.5, work, tiles=2)]


def discriminants(
    phi: Expansion,
    classes: Array,
    mu: float,
    weights: Array | None = None,
    *,
    n: int | None = None,
    memory: Memory = "1GB",
    random_state: Seed = None,
) -> Discriminants:
    r"""Return the first n directions w with S_B w = lambda (S_W + mu I) w and w'(S_W + mu I) w = sum of the weights.

    S_B = sum_c n_c (m_c - m)(m_c - m)' and S_W = sum_i (phi_i - m_c)(phi_i - m_c)', weighted. Since S_B + S_W is the
    scatter of all points, the directions are combinations w = Phi B v of C - 1 ridge regressions of contrasts D between
    the memberships E_ic = 1 / sqrt(n_c): (K + mu I) B = E D with K centred, and mu D'E'B v = v / (1 + lambda)
    (Baudat and Anouar 2000; Kwak 2013, eq. 27, with S_B in place of the total scatter printed there). For mu = 0, the
    limit, B are the solutions of minimum norm, and what these leave of E D is scatter within.
    """
    check_nonnegative("mu", mu)
    weights = check_weights("weights", weights, len(phi))
    sizes = _sizes(classes, weights)
    total = sizes.sum()
    root = np.sqrt(weights)[:, None]
    contrasts = _contrasts(sizes) / np.sqrt(sizes)[:, None]
    # a small mu multiplies the rounding of float32 values
    exact = in_float64(phi)
    unit = root / np.sqrt(total)
    inner = Projected(Weighted(InnerProducts(exact, memory), root[:, 0]), unit)
    targets = root * contrasts[classes]
    name = MatrixName(phi.kernel)
    solved = solve(inner, targets, mu, name=name, memory=memory, random_state=random_state)
    noise = _noise(exact, weights, inner, mu)
    # rounding mu leaves out memberships outside of the range of K, which are scatter within
    outside = targets - solved.fitted
    within, V = _separating(targets.T @ (mu * solved.coef + outside), noise, mu, classes, n)
    between = 1 - within
    _warn_separated(within[0], ROUNDINGS * EPS if mu else noise, mu)
    lost = relative(outside, targets) if mu else 0.0
    _warn_rounded(max(noise / between[0], lost), mu)
    V = V * np.sqrt(total / (within * between))
    means = contrasts @ (V * between)
    sign = np.where(means[-1] < 0, -1, 1)
    # combinations of centred features: the part along the weights is 0 up to rounding, which this removes
    coef = without(unit, solved.coef @ (sign * V))
    dtype = InnerProducts(phi).dtype
    intercept = (-inner.image[:, 0] @ coef / np.sqrt(total)).astype(dtype)
    means = (sign * means).astype(dtype)
    psi = phi @ (root * coef).astype(dtype)
    return Discriminants(psi, intercept, between / within, means, solved.residual)


def restricted(
    phi: Expansion,
    onto: Expansion,
    classes: Array,
    mu: float,
    weights: Array | None = None,
    *,
    n: int | None = None,
    memory: Memory = "1GB",
) -> Discriminants:
    """Return the directions of ``discriminants`` in the span of other vectors; stores nothing of size n.

    In coordinates F = Q'Phi with class means M about the mean: w = Q L^-T U n^(1/2) and lambda = s^2 with L L' = S_W +
    mu I and L^-1 M' diag(n_c)^(1/2) = U diag(s) V'.
    """
    weights = check_weights("weights", weights, len(phi))
    sizes = _sizes(classes, weights)
    task = f"discriminants over {len(onto)} landmarks"
    remedy = "fewer landmarks, or a larger memory="
    require_memory(restricted_bytes(len(onto)), memory, task, remedy)
    Q = orthonormal_basis(onto, memory)
    total = sizes.sum()
    centres, within, spanned = _class_moments(Q, phi.points, np.asarray(classes), weights, sizes)
    centre = sizes @ centres / total
    A = (centres - centre).T * np.sqrt(sizes)
    S = within + mu * np.eye(len(Q))
    L = cholesky.jittered(S, "the regularised scatter within classes")[0]
    U, s, _ = np.linalg.svd(scipy.linalg.solve_triangular(L, A, lower=True), full_matrices=False)
    norms = as_float64(phi.norms()) ** 2
    noise = EPS * (len(phi) + len(phi) ** 0.5 * float(np.max(weights * norms)) / mu)
    # the roots of the sizes are in the null space
    s = s[: len(sizes) - 1]
    kept = _resolved(s**2 / (1 + s**2), noise, mu, len(phi), n)
    eigenvalues = s[kept] ** 2
    _warn_rounded(noise * (1 + 1 / eigenvalues[0]), mu)
    B = np.sqrt(total) * scipy.linalg.solve_triangular(L, U[:, kept], lower=True, trans="T")
    means = (centres - centre) @ B
    sign = np.where(means[-1] < 0, -1, 1)
    given = (S @ B) * eigenvalues
    residual = relative(A @ (A.T @ B) - given, given)
    dtype = InnerProducts(phi).dtype
    expansion = Expansion(Q.kernel, Q.points, (Q.coef @ (sign * B)).astype(dtype))
    outside = float(np.clip(1 - spanned / (weights @ norms), 0.0, 1.0))
    intercept = (-centre @ (sign * B)).astype(dtype)
    means = (sign * means).astype(dtype)
    return Discriminants(expansion, intercept, eigenvalues, means, residual, outside)


def _class_moments(Q, points, classes, weights, sizes):
    """Return class means (C, r) and scatter within classes (r, r) of coordinates, and the sum of their squares."""
    # subtracting the mean of the landmarks first avoids cancellation
    shift = as_float64(Q(widened(Q.points))).mean(axis=0)
    # sparse: there may be thousands of classes
    members = sp.eye_array(len(sizes), format="csr")
    found = weighted_sums(
        lambda part: widely(np.subtract, Q(widened(part)), shift),
        Q.kernel,
        points,
        len(Q),
        lambda rows: members[classes[rows]],
        weights,
    )
    scatter = found.matrix
    sums = found.right.T
    total = sums.sum(axis=0)
    spanned = float(np.trace(scatter) + 2 * shift @ total + sizes.sum() * (shift @ shift))
    means = sums / sizes[:, None]
    return means + shift, scatter - sums.T @ means, spanned


def residuals(
    found: Discriminants,
    priors: Array,
    *,
    classes: Array,
    mu: float,
    weights: Array,
    points: PointsLike | None = None,
) -> Array:
    """Return the largest relative residual of three equations of each direction (m,).

    With scores y_i = psi(x_i) + b, the mean M of their class and s = 1 + 1 / lambda they are: the eigenproblem
    w_i y_i + mu a_i = s w_i M, the means themselves, and the scale sum_c prior_c M_c^2 = lambda.
    """
    psi = found.expansion
    means = found.means
    w = weights[:, None]
    scores = psi(psi.points if points is None else points) + found.intercept
    sizes = np.bincount(classes, weights=weights)[:, None]
    own = np.zeros(means.shape)
    np.add.at(own, classes, w * scores / sizes[classes])
    given = (1 + 1 / found.eigenvalues) * w * means[classes]
    errors = w * scores - given
    ridge = mu * psi.coef
    if points is not None:
        # inner products with the landmarks
        rows = Gram(psi.kernel, psi.points, points)
        errors = rows @ errors
        given = rows @ given
        ridge = mu * psi(psi.points)
    system = relative_columns(errors + ridge, given)
    centres = np.sqrt(
        np.sum(sizes * (own - means) ** 2, axis=0) / np.sum(sizes * means**2, axis=0).clip(TINY)
    )
    scale = np.abs(priors @ means**2 / found.eigenvalues - 1)
    return np.max([system, centres, scale], axis=0)


def _noise(phi, weights, centred, mu):
    """Return a bound of lambda / (1 + lambda) along a direction that separates nothing but by rounded kernel values."""
    n = len(phi)
    largest = float(np.max(weights * as_float64(phi.norms()) ** 2))
    if is_rounding(mu, centred):
        # directions below n eps times the largest eigenvalue are left out
        return n * EPS * largest / max(float(np.max(centred.diagonal())), TINY)
    return EPS * (n + n**0.5 * largest / mu)


def _separating(G, noise, mu, classes, n):
    """Return the eigenvalues 1 / (1 + lambda) and eigenvectors of at most n directions that separate the means.

    Directions after the first one are left out unless they are well above ``noise``.
    """
    within, V = np.linalg.eigh((G + G.T) / 2)
    # classes that are separated entirely leave rounding of either sign
    within = within.clip(EPS)
    kept = _resolved(1 - within, noise, mu, len(classes), n)
    return within[kept], V[:, kept]


def _resolved(shares, noise, mu, n_points, n):
    """Return the numbers of the first n directions with shares lambda / (1 + lambda), descending, above rounding."""
    if not len(shares) or shares[0] <= n_points * EPS:
        raise ValueError(
            f"no discriminant: the means of the {len(shares) + 1} classes are equal up to rounding. The points are "
            f"constant, or mu = {shown(mu)} is far above their variance, weighted by sample_weight; give points that "
            "differ, or a smaller mu."
        )
    # directions after the first are kept if they separate more than rounding does
    return np.append(0, 1 + np.flatnonzero(shares[1:] > ROUNDINGS * noise))[:n]


def _warn_rounded(error, mu):
    if error > INACCURATE:
        warn(
            f"directions are accurate to a share of {min(error, 1.0):.1g} only: mu = {shown(mu)} multiplies the "
            "rounding of kernel values; give a larger mu, or subtract the mean of the features.",
            ConvergenceWarning,
        )


def _warn_separated(within, floor, mu):
    if within <= floor:
        warn(
            f"rounding hides the scatter within classes, so that eigenvalues and the scale of scores are bounds only: "
            f"mu = {shown(mu)} is far below kernel values; give a larger mu, or divide X by its scale.",
            ConvergenceWarning,
        )


def _sizes(classes, weights):
    """Return the weight of each class, all above 0."""
    classes = np.asarray(classes)
    if classes.shape != (len(weights),) or classes.dtype.kind not in "iu":
        raise ValueError(
            f"classes must be {len(weights)} whole numbers, one per vector; got shape {classes.shape}."
        )
    if len(classes) and classes.min() < 0:
        raise ValueError(f"classes must be numbered from 0; got {classes.min()}.")
    sizes = np.bincount(classes, weights=weights)
    if len(sizes) < 2:
        raise ValueError("classes must be at least two; got 1 class.")
    if not sizes.all():
        raise ValueError(
            f"class {int(np.argmin(sizes))} has no points, or none with a positive weight."
        )
    return sizes


def _contrasts(sizes):
    """Return an orthonormal basis (C, C - 1) of the complement of the roots of the sizes."""
    return np.linalg.qr(np.column_stack([np.sqrt(sizes), np.eye(len(sizes))[:, 1:]]))[0][:, 1:]


def log_posteriors(Z: Array, means: Array, priors: Array) -> Array:
    """Return log P(class | z) up to a constant of each row, for Gaussian classes of unit covariance (n_test, C)."""
    offsets = np.log(priors) - np.sum(as_float64(means) ** 2, axis=1) / 2
    return Z @ means.T.astype(Z.dtype, copy=False) + offsets.astype(Z.dtype)
