"""Support vector machines over landmarks: linear classifiers of coordinates in the span of their features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer import landmarks
from mercer._common import Memory, as_float64
from mercer._compute.points import widened
from mercer._compute.routes import SMALL_MEMORY, Route, Size, Work
from mercer.estimators._accuracy import Solved, conclude
from mercer.estimators._base import exact_vectors
from mercer.estimators._classifier import store_classes
from mercer.estimators._model import Model
from mercer.estimators._problem import Problem, in_range
from mercer.estimators._svm import certified_kernel, training_places
from mercer.expansion import Expansion, features
from mercer.kernels.dot import Linear
from mercer.linalg import eigh
from mercer.solvers._certify import Certificate, total
from mercer.solvers.ridge import orthonormal_basis
from mercer.solvers.svm import certificate
from mercer.solvers.svm.dual import Dual

# Arrays of the size of its coordinates, and costs in kernel values of all passes of a linear problem over one of them.
_COORDINATES = 2.5
_PASSES = 40


def route(run: Callable[[Problem], None], size: Size, m: int, rule: str) -> Route:
    """Return the route of the problem over m landmarks of a rule."""
    own = 8 * m * (_COORDINATES * size.n + m)
    work = landmarks.sums(size.n, m, landmarks.SYSTEM) + Work(
        float(_PASSES) * size.n * m, cubes=-(float(m) ** 3)
    )
    found = landmarks.route(run, size, m, rule, eigh.ALL + 1, work)
    n_bytes = max(found.bytes, int(own + min(own, SMALL_MEMORY)))
    return replace(found, bytes=n_bytes, limited=n_bytes)


def linear_problem(problem: Problem, onto: Expansion, memory: Memory) -> tuple[Any, ...]:
    """Return the problem on coordinates F = Q'Phi (k, r), the orthonormal vectors Q, and the trace error.

    The normal over the landmarks is Q times the normal of the linear classifier of F.
    """
    basis = orthonormal_basis(onto, memory)
    F = np.ascontiguousarray(basis(problem.points), np.float64)
    square = float(np.sum(problem.diagonal, dtype=np.float64))
    outside = 1 - float(np.einsum("ij,ij->", F, F)) / square if square > 0 else 0.0
    return replace(problem, kernel=Linear(), points=F), basis, float(np.clip(outside, 0.0, 1.0))


def store(
    model: Model, problem: Problem, linear: Problem, basis: Expansion, solved: Solved
) -> None:
    """Store the solutions of the linear problem as coefficients of the landmarks, and the certificate."""
    duals = solved.duals
    coef = np.zeros((len(problem.rows), len(duals)))
    coef[duals.points, duals.number] = solved.solutions.coef
    store_classes(model, problem)
    model.kernel_ = problem.kernel
    model.support_vectors_ = basis.points
    model.dual_coef_ = in_range(basis.coef @ (linear.points.T @ coef), problem.dtype)
    model.intercept_ = solved.solutions.bias.astype(problem.dtype)
    model.n_iter_ = solved.solutions.n_iter
    used = np.flatnonzero(coef.any(axis=1))
    # the solution of the dual, for certificates
    model.restricted_dual_ = {"rows": problem.rows[used], "coef": coef[used]}
    solved = replace(solved, points=linear.points, stored=problem.dtype == np.float64)
    conclude(model, linear, solved, partial(recomputed, model, problem, duals))


def recomputed(
    model: Model, problem: Problem, duals: Sequence[Dual], _shift: float = 0.0
) -> Certificate:
    """Return the certificate of the stored coefficients in float64: primal of the landmarks, dual of the rows.

    With w of the landmarks and v = F'b of the dual, objectives are |w|^2 / 2 + losses of w, and those of b with |v|^2;
    `certificate` takes <v, w> for both squares.
    """
    kernel = certified_kernel(model, problem)
    points = widened(problem.points)
    landmarks = model.support_vectors_
    psi = exact_vectors(kernel, landmarks, model.dual_coef_)
    basis = orthonormal_basis(features(kernel, widened(landmarks)), model.memory)
    F = as_float64(basis(points))
    values = as_float64(psi(points))
    W = basis.inner(psi)
    coef = np.zeros((len(problem.rows), len(duals)))
    coef[training_places(model, problem, model.restricted_dual_["rows"])] = model.restricted_dual_[
        "coef"
    ]
    parts = []
    for k, dual in enumerate(duals):
        own = coef[dual.points, k]
        bias = float(model.intercept_[k])
        gradient = dual.target - values[dual.points, k]
        found = certificate(dual, own, gradient, bias, problem.rounding)
        v = F[dual.points].T @ own
        w = W[:, k]
        parts.append(
            Certificate(
                found.primal + 0.5 * float(w @ (w - v)),
                found.dual + 0.5 * float(v @ (w - v)),
                max(found.kkt, float(np.abs(values[dual.points, k] - F[dual.points] @ v).max())),
            )
        )
    return total(parts)
