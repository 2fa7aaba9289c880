from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.bias import violation_of
from mercer.solvers.svm.correction import corrected, is_doubtful
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.workspace import Options, Workspace

import mercer as mc
from mercer.solvers.svm import correction
from mercer.solvers.svm.dual import Dual, Solution, certificate
from mercer.solvers.svm.rows import FusedRows

TOL = 1e-3


def _problem(seed, dtype=np.float32, n=600):
    """Return rows of points far from their mean, whose float32 rounding moves gradients by several tolerances."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    X[::2] += 350
    rows = FusedRows(mc.Gaussian(0.5), X, dtype, 1e-9)
    bound = 30 * y
    return rows, Dual(y, np.minimum(bound, 0), np.maximum(bound, 0), np.zeros(n), np.arange(n))


def _solved(rows, dual, tol=TOL):
    workspace = Workspace.allocate(rows, len(dual.coef), Options(tol))
    return workspace, solve(rows, dual, workspace)


def _one(rows, dual, solution, workspace):
    return corrected(rows, [dual], [solution], workspace)[0]


def _true_violation(rows, dual, coef):
    gradient = dual.target - rows.exact_product(dual.points, dual.points, coef)
    return violation_of(gradient, coef, dual)


def test_a_violation_hidden_by_rounding_is_found_and_removed(global_random_seed):
    rows, dual = _problem(global_random_seed)
    workspace, found = _solved(rows, dual)
    assert found.violation <= TOL < _true_violation(rows, dual, found.coef)
    better = _one(rows, dual, found, workspace)
    assert better.violation <= TOL
    assert _true_violation(rows, dual, better.coef) == pytest.approx(better.violation, abs=0.01 * TOL)
    assert _true_violation(rows, dual, better.coef) <= 1.01 * TOL
    assert better.n_iter > found.n_iter
    assert not is_doubtful(better.violation, better.noise, TOL)
    # several classifiers are not certified again
    assert better.certificate == certificate(dual, better.coef, better.gradient, better.bias)


def test_float64_rows_newton_solutions_and_unfinished_ones_are_left_as_they_are():
    rows, dual = _problem(0, np.float64)
    workspace, found = _solved(rows, dual)
    assert _one(rows, dual, found, workspace) is found
    rows, dual = _problem(0)
    workspace, found = _solved(rows, dual)
    for violation in (0.009 * TOL, 1.1 * TOL):
        point = replace(found, violation=violation)
        assert _one(rows, dual, point, workspace) is point


def test_accurate_rows_keep_their_solution_and_state_the_rounding():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    rows = FusedRows(mc.Gaussian(0.5), X, np.float32, 1e-9)
    dual = Dual(y, np.minimum(y, 0), np.maximum(y, 0), np.zeros(400), np.arange(400))
    workspace, found = _solved(rows, dual)
    same = _one(rows, dual, found, workspace)
    np.testing.assert_array_equal(same.coef, found.coef)
    exact = dual.target - rows.exact_product(dual.points, dual.points, found.coef)
    assert 0 < same.noise <= np.abs(exact - found.gradient).max()


def test_steps_of_corrections_are_within_max_iter():
    rows, dual = _problem(0)
    workspace, found = _solved(rows, dual)
    assert _one(rows, dual, found, replace(workspace, max_iter=found.n_iter)).n_iter == found.n_iter
    assert _one(rows, dual, found, replace(workspace, max_iter=found.n_iter + 3)).n_iter == found.n_iter + 3


@pytest.mark.parametrize(("violation", "noise", "expected"), [(0.8, 0.06, True), (0.8, 0.04, False), (1.1, 1, False)])
def test_a_solution_is_doubtful_if_twice_the_largest_rounding_reaches_the_tolerance(violation, noise, expected):
    point = Solution(np.zeros(1), np.zeros(1), 0.0, violation, 1, noise=noise)
    assert is_doubtful(point.violation, point.noise, 1.0) is expected
    assert not is_doubtful(point.violation, np.nan, 1.0)


def test_the_sample_has_64_variables_and_gradients_that_cannot_decide_the_violation_are_not_computed(monkeypatch):
    rows, dual = _problem(0)
    # most variables are far from the margin
    dual = replace(dual, lower=dual.lower / 100, upper=dual.upper / 100)
    workspace, found = _solved(rows, dual)
    asked, original = [], FusedRows.exact_product

    def watched(rows, R, J, weights):
        asked.append(R)
        return original(rows, R, J, weights)

    monkeypatch.setattr(FusedRows, "exact_product", watched)
    noise = correction.rounding_of_gradients(rows, [dual], [found])[0]
    assert len(asked.pop()) == min(64, np.count_nonzero((found.coef > dual.lower) & (found.coef < dual.upper)))
    point = replace(found, violation=TOL, noise=noise)
    better = correction._corrected(rows, dual, point, workspace)
    assert len(asked[0]) < 0.5 * len(dual.coef)
    monkeypatch.undo()
    true = dual.target - original(rows, dual.points, dual.points, better.coef)
    moved = np.setdiff1d(np.arange(len(true)), asked[-1])
    assert _true_violation(rows, dual, better.coef) == pytest.approx(better.violation, abs=1e-9)
    # what was not computed again keeps its rounding
    assert 0 < np.abs(true - better.gradient)[moved].max() <= 4 * noise
    np.testing.assert_allclose(better.gradient[asked[-1]], true[asked[-1]], atol=1e-9)


def test_several_duals_over_shared_points_are_measured_together(global_random_seed):
    rows, dual = _problem(global_random_seed)
    parts = [dual.take(np.arange(0, 400)), dual.take(np.arange(200, 600)), dual.take(np.arange(100, 300))]
    workspace, solutions = Workspace.allocate(rows, 400, Options(TOL)), []
    for part in parts:
        found = solve(rows, part, workspace)
        solutions.append(replace(found, coef=found.coef.copy(), gradient=found.gradient.copy(), cache=None))
    together = corrected(rows, parts, list(solutions), workspace)
    for part, each, found in zip(parts, solutions, together, strict=True):
        assert _true_violation(rows, part, found.coef) <= 1.01 * TOL
        rounding = np.abs(part.target - rows.exact_product(part.points, part.points, each.coef) - each.gradient).max()
        measured = correction.rounding_of_gradients(rows, [part], [each])[0]
        assert 0.2 * rounding <= measured <= rounding * (1 + 1e-9)
    noise = correction.rounding_of_gradients(rows, parts, solutions)
    np.testing.assert_array_less(0, noise)
