"""Support vector machines over landmarks: linear classifiers of coordinates in the span of their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Memory
from mercer._compute.points import count_points, widened
from mercer.estimators._accuracy import conclude
from mercer.estimators._base import exact_vectors
from mercer.estimators._classifier import store_classes
from mercer.estimators._scales import in_range
from mercer.estimators._svm import certified_kernel, training_places
from mercer.expansion import features
from mercer.kernels.dot import Linear
from mercer.solvers._certify import Certificate, total
from mercer.solvers.ridge import orthonormal_basis
from mercer.solvers.svm import certificate
from mercer.solvers.svm.dual import joined

if TYPE_CHECKING:
    from mercer.estimators._svm import Problem
    from mercer.expansion import Expansion
    from mercer.solvers.svm.dual import Dual, Solution


def linear_problem(problem: Problem, onto: Expansion, memory: Memory) -> tuple[Any, ...]:
    """Return the problem on coordinates F = Q'Phi (k, r), the orthonormal vectors Q, and the trace error.

    The normal over the landmarks is Q times the normal of the linear classifier of F.
    """
    basis = orthonormal_basis(onto, memory)
    F = np.ascontiguousarray(basis(problem.points), np.float64)
    square = float(np.sum(problem.kernel.diag(problem.points), dtype=np.float64))
    outside = 1 - float(np.einsum("ij,ij->", F, F)) / square if square > 0 else 0.0
    return replace(problem, kernel=Linear(), points=F), basis, float(np.clip(outside, 0.0, 1.0))


def store(
    model: Any,
    problem: Problem,
    linear: Any,
    basis: Any,
    duals: Sequence[Dual],
    solutions: Sequence[Solution],
    error: float,
) -> None:
    """Store the solutions of the linear problem as coefficients of the landmarks, and the certificate."""
    coef = _signed(linear, duals, solutions)
    store_classes(model, problem)
    model.support_vectors_ = basis.points
    model.dual_coef_ = in_range(basis.coef @ (linear.points.T @ coef), problem.dtype)
    model.intercept_ = joined(solutions, "bias").astype(problem.dtype)
    model.n_iter_ = joined(solutions, "n_iter")
    used = np.flatnonzero(coef.any(axis=1))
    # the solution of the dual, for certificates
    model.restricted_dual_ = {"rows": problem.rows[used], "coef": coef[used]}
    exact = partial(recomputed, model, problem, duals)
    stored = problem.dtype == np.float64
    conclude(model, linear, duals, solutions, model.tol, error, exact, points=linear.points, stored=stored)


def recomputed(model: Any, problem: Problem, duals: Sequence[Dual], _shift: float = 0.0) -> Any:
    """Return the certificate of the stored coefficients in float64: primal of the landmarks, dual of the rows.

    With w of the landmarks and v = F'b of the dual, objectives are |w|^2 / 2 + losses of w, and those of b with |v|^2;
    `certificate` takes <v, w> for both squares.
    """
    kernel = certified_kernel(model, problem)
    points = widened(problem.points)
    landmarks = model.support_vectors_
    psi = exact_vectors(kernel, landmarks, model.dual_coef_)
    basis = orthonormal_basis(features(kernel, widened(landmarks)), model.memory)
    F = np.asarray(basis(points), np.float64)
    values = np.asarray(psi(points), np.float64)
    W = basis.inner(psi)
    coef = np.zeros((len(problem.rows), len(duals)))
    coef[training_places(model, problem, model.restricted_dual_["rows"])] = model.restricted_dual_["coef"]
    parts = []
    for k, dual in enumerate(duals):
        own, bias = coef[dual.points, k], float(model.intercept_[k])
        found = certificate(dual, own, dual.target - values[dual.points, k], bias, np.finfo(problem.dtype).eps)
        v, w = F[dual.points].T @ own, W[:, k]
        parts.append(
            Certificate(
                found.primal + 0.5 * float(w @ (w - v)),
                found.dual + 0.5 * float(v @ (w - v)),
                max(found.kkt, float(np.abs(values[dual.points, k] - F[dual.points] @ v).max())),
            )
        )
    return total(parts)


def _signed(linear, duals, solutions):
    """Return the coefficients of all points in all duals (k, m)."""
    coef = np.zeros((count_points(linear.points), len(duals)))
    for k, (dual, solution) in enumerate(zip(duals, solutions, strict=True)):
        coef[dual.points, k] = solution.coef
    return coef
