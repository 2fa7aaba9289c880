"""Ridge regression over many landmarks by conjugate gradients: one matrix of the order of the landmarks.

The vectors psi = sum_j b_j phi(z_j) that minimise sum_i w_i (psi(x_i) - Y_i)^2 + alpha |psi|^2 solve
(K_zx W K_xz + alpha K_zz) B = K_zx W Y. Rudi, Carratino, Rosasco, *FALKON: an optimal large scale kernel method*, NIPS
30 (2017); Diaz, Epperly, Frangella, Tropp, Webber, *Robust, randomized preconditioning for kernel ridge regression*
(2023).
"""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning

from mercer._common import EPS, Array, ArrayLike, PointsLike, Seed, as_float64, warn
from mercer._compute import memory
from mercer._compute.costs import BLOCK, ROWS, TASKS
from mercer._compute.memory import Work
from mercer._compute.normal import plus_square, transposed
from mercer._compute.points import count_points, take_points
from mercer._progress import notify
from mercer.distributed.blocks import Blocks
from mercer.expansion import Expansion
from mercer.kernels.base import matched
from mercer.least_squares import powers_of_two, relative_columns
from mercer.linalg import cg
from mercer.linalg.generator import sorted_sample
from mercer.linalg.lapack import factorise
from mercer.linalg.operators import InnerProducts, in_float64

_logger = logging.getLogger(__name__)

# Largest relative residual of the linear system, and the number of steps.
_TOL = 1e-6
_STEPS = 200
# Points of the preconditioner for each landmark.
_SAMPLE = 8


def stored_bytes(m: int) -> int:
    """Return the number of bytes that ``solve`` takes beyond the points: a matrix of order m, and kernel values."""
    # products take copies of these
    return 8 * m * m + 24 * BLOCK


def work(n: int, m: int) -> Work:
    """Return the work of ``solve`` for n points and m landmarks."""
    steps = float(n) * m * cg.TYPICAL
    # half of the squares of the sample of the preconditioner
    triangle = _SAMPLE / 2 * m**3
    return Work(steps, 4.0 * steps + triangle, assumed=f"{cg.TYPICAL} steps")


def solve(
    onto: Expansion,
    blocks: Blocks,
    Y: ArrayLike,
    alpha: float,
    weights: Array | None = None,
    random_state: Seed = None,
) -> tuple[Any, ...]:
    """Return the vectors over landmarks for the columns of Y, and the relative residual of their linear system.

    ``blocks`` are those of the points, see ``as_blocks``; each step takes their kernel values with the landmarks once.
    Beyond the points one matrix of order m is stored. Warns where the residual exceeds 1e-6.
    """
    right = blocks.total(_right, onto, Y, weights)
    total = blocks.shape[0] if weights is None else float(weights.sum())
    # squares of large numbers overflow, those of small ones are 0; powers of 2 change no digit
    unit = powers_of_two(right)
    right = right / unit
    size = min(blocks.shape[0], _SAMPLE * len(onto))
    rows = sorted_sample(blocks.shape[0], size, random_state)
    own = None if weights is None else np.asarray(weights[rows])
    precondition = preconditioner(onto, blocks.take(rows), own, total, alpha)
    system = _System(onto, blocks, Y, alpha, weights)
    B, steps = cg.solve(system, right, precondition, tol=_TOL / 2, max_iter=_STEPS)
    residual = float(relative_columns(right - system @ B, right).max())
    _logger.info(
        "ridge over %d landmarks by %d steps: relative residual %.1e", len(onto), steps, residual
    )
    if residual > _TOL:
        warn(
            f"ridge over {len(onto)} landmarks left a relative residual of {residual:.1e} after {steps} steps of "
            f"conjugate gradients, tol = {_TOL:.0e}; use a larger alpha, or a larger memory= for the direct solver.",
            ConvergenceWarning,
        )
    return Expansion(
        onto.kernel, onto.points, (B * unit).astype(InnerProducts(onto).dtype)
    ), residual


class _System:
    """The operator B -> (K_zx W K_xz + alpha K_zz) B."""

    def __init__(
        self, onto: Expansion, blocks: Blocks, Y: Array, alpha: float, weights: Array | None
    ) -> None:
        self._onto = onto
        self._blocks = blocks
        self._alpha = alpha
        self._columns = (Y, weights)
        # by their rounding, float32 values would not be those of a definite matrix
        self._exact = in_float64(onto)

    def __matmul__(self, B: Array) -> Array:
        found = self._blocks.total(_product, (self._onto, B), *self._columns)
        for rows in memory.blocks(len(self._onto), len(self._onto)):
            found[rows] += self._alpha * (_values(self._exact, self._exact.points, rows) @ B)
        return found


def _right(onto, points, Y, weights=None):
    """Return K_zx W Y."""
    Y, w = _columns(Y, weights)
    return _transposed(onto, points, (w, Y), Y.shape[1], lambda _, w, Y: w * Y)


def _product(shared, points, Y, weights=None):
    """Return K_zx W K_xz B."""
    onto, B = shared
    _, w = _columns(Y, weights)
    return _transposed(onto, points, (w,), B.shape[1], lambda K, w: w * (K @ B))


def _transposed(onto, points, columns, width, right):
    """Return K_zx R (m, width), some points at a time, with rows ``right(K, *columns)`` of R from those of K_xz."""
    found = np.zeros((len(onto), width))
    # centred copies of these are in memory
    for part in memory.cut(count_points(points), TASKS * ROWS):
        X = onto.kernel.admit(take_points(points, part), "X")
        X, Z = matched(onto.kernel, X, onto.prepared)
        own = [column[part] for column in columns]
        found += transposed(
            onto.kernel, X, Z, width, lambda rows, K, own=own: right(K, *(c[rows] for c in own))
        )
    return found


def _columns(Y, weights):
    return Y.reshape(len(Y), -1), np.ones((len(Y), 1)) if weights is None else weights[:, None]


def _values(onto, points, rows):
    """Return the kernel values of some points with the landmarks in float64."""
    return as_float64(onto(take_points(points, rows)))


def preconditioner(
    onto: Expansion, sample: PointsLike, weights: Array | None, total: float, alpha: float
) -> Callable[[Array], Array]:
    """Return the function R -> P^-1 R of P = s K_zq W K_qz + alpha K_zz + jitter I, from a sample of q points.

    s is the sum of all weights, ``total``, over that of the sample. Diaz, Epperly, Frangella, Tropp, Webber (2023),
    with points drawn where they take random combinations.
    """
    m = len(onto)
    # a sample of few points among many of weight 0 may have none of positive weight
    w = np.ones(count_points(sample)) if weights is None or not weights.any() else weights
    scale = total / w.sum()
    F = np.zeros((m, m), order="F")
    for rows in memory.blocks(len(w), m):
        F = plus_square(F, np.sqrt(w[rows, None] * scale) * _values(onto, sample, rows))
        # minutes for many landmarks
        notify("preconditioner", done=rows.stop, most=len(w))
    exact = in_float64(onto)
    for rows in memory.blocks(m, m):
        F[rows] += alpha * _values(exact, exact.points, rows)
    # jitter does not change the solution
    np.fill_diagonal(F, F.diagonal() + m * EPS * float(F.diagonal().mean()))
    try:
        factorise(F)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"the kernel matrix of {m} landmarks is indefinite; use a positive semidefinite kernel, or make_positive."
        ) from None
    return lambda R: lapack.dpotrs(F, R, lower=1)[0]
