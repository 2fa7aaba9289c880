"""Small duals of two sums in compiled code: optimum, kept sums, rows of every kind."""

from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.compiled_sums import SmallSums, fits_sums
from mercer.solvers.svm.known_rows import KnownRows
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.whole import LARGEST
from mercer.solvers.svm.workspace import Workspace

import mercer as mc
from mercer.solvers.svm import compiled_sums
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.smo import LANES

KERNEL, SIZES = mc.Gaussian(0.5), [37, 21]


def problem(seed, dtype=np.float64):
    """Return points, rows, a dual of two groups with a start in the middle, and its gradient."""
    rng = np.random.default_rng(seed)
    n = sum(SIZES)
    X, sign = rng.normal(size=(n, 3)), np.repeat([1.0, -1.0], SIZES)
    bound = rng.random(n) + 0.2
    lower, upper = np.minimum(sign * bound, 0), np.maximum(sign * bound, 0)
    points, share = rng.permutation(n), np.repeat([5.0 / bound[: SIZES[0]].sum(), 5.0 / bound[SIZES[0] :].sum()], SIZES)
    dual = Dual(0.3 * rng.normal(size=n), lower, upper, share * sign * bound, points)
    K = KERNEL(X)[np.ix_(points, points)]
    return K, FusedRows(KERNEL, X, dtype), dual, dual.target - K @ dual.coef


def solved(rows, dual, gradient, tol=1e-4):
    state = SmallSums(rows, dual, SIZES, gradient, dual.coef, np.empty(128**2, rows.dtype))
    while violation(state, dual) > tol:
        assert state.take_steps(0.5 * tol, 10**6) > 0
    return state


def violation(state, dual):
    found = []
    for own in (slice(0, SIZES[0]), slice(SIZES[0], None)):
        f, b = state.gradient[own], state.coef[own]
        found.append(f[b < dual.upper[own]].max() - f[b > dual.lower[own]].min())
    return max(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_keep_each_sum_and_refinement_is_optimal_to_the_last_digits(dtype, global_random_seed):
    K, rows, dual, gradient = problem(global_random_seed, dtype)
    state = solved(rows, dual, gradient)
    biases = [float(np.median(state.gradient[own])) for own in (slice(0, SIZES[0]), slice(SIZES[0], None))]
    np.testing.assert_allclose(state.gradient, dual.target - K @ state.coef, atol=1e-5)
    state.refine(biases, 10.0)
    # all variables took part: their gradients are exact
    np.testing.assert_allclose(state.gradient, dual.target - K @ state.coef, atol=1e-12)
    assert violation(state, dual) <= 1e-11
    np.testing.assert_allclose(np.add.reduceat(state.coef, [0, SIZES[0]]), [5.0, -5.0], rtol=1e-12)
    assert (np.clip(state.coef, dual.lower, dual.upper) == state.coef).all()


def test_known_values_in_another_order_have_the_same_solution(global_random_seed):
    K, rows, dual, gradient = problem(global_random_seed)
    expected = solved(rows, dual, gradient, 1e-9).coef
    order = np.random.default_rng(1).permutation(len(K))
    given = mc.Precomputed(KERNEL(rows.points[order]))
    known = KnownRows.of(given, np.argsort(order))
    np.testing.assert_allclose(solved(known, dual, gradient, 1e-9).coef, expected, atol=1e-6)


def test_a_sum_that_lost_digits_is_restored_with_the_gradient(global_random_seed):
    K, rows, dual, gradient = problem(global_random_seed)
    state = SmallSums(rows, dual, SIZES, gradient, dual.coef, np.empty(128**2))
    state._coef[3] += 1e-7
    state._restore_sums()
    np.testing.assert_allclose(np.add.reduceat(state.coef, [0, SIZES[0]]), [5.0, -5.0], rtol=1e-14)
    np.testing.assert_allclose(state.gradient, dual.target - K @ state.coef, atol=1e-13)
    # an error of rounding is none
    before = state.gradient.copy()
    state._f += 1.0
    state._coef[3] += 1e-15
    state._restore_sums()
    np.testing.assert_array_equal(state.gradient, before + 1.0)


def test_refinement_that_takes_too_many_operations_is_not_begun(monkeypatch):
    monkeypatch.setattr(compiled_sums, "_OPERATIONS", 0.0)
    monkeypatch.setattr(compiled_sums, "_SHARE", 0.0)
    _, rows, dual, gradient = problem(0)
    state = solved(rows, dual, gradient)
    before = state.coef
    state.refine([0.0, 0.0], 10.0)
    np.testing.assert_array_equal(state.coef, before)


def test_rows_of_compiled_code_and_memory_for_all_of_them_are_needed():
    _, rows, _, _ = problem(0)
    workspace = Workspace(1e-3, 10**6, np.empty((64 + 2 * LANES) ** 2))
    assert fits_sums(rows, 64, workspace)
    assert not fits_sums(rows, 64, replace(workspace, buffer=workspace.buffer[1:]))
    assert not fits_sums(rows, 65, workspace)
    assert not fits_sums(PlainRows(KERNEL, rows.points), 64, workspace)
    assert not fits_sums(rows, LARGEST + 1, replace(workspace, buffer=np.empty((LARGEST + 4 * LANES) ** 2, np.int8)))
