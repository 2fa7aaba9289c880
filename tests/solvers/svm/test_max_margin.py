"""The closest points of two convex hulls, against geometry."""

from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.max_margin import _distance, _in_margins, _place, _some, solve_nu_svc, widest_margin
from mercer.solvers.svm.workspace import Workspace

import mercer as mc
from mercer.solvers.svm.dual import Dual, Solution
from mercer.solvers.svm.rows import FusedRows


def closest(X, sign, dtype=np.float64, bound=2.0, tol=1e-6):
    """Return the solution, margin and unit of convex hulls in the input space."""
    workspace = Workspace(tol, 10**6, np.empty(256**2, dtype))
    return widest_margin(FusedRows(mc.Linear(), X, dtype), classifier(sign, bound), 1.0, 1e-9, workspace)


def classifier(sign, bound, **options):
    n, signed = len(sign), bound * sign
    return Dual(sign, np.minimum(signed, 0), np.maximum(signed, 0), np.zeros(n), np.arange(n), **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_corner_is_nearest_to_the_middle_of_an_edge(dtype):
    # rows of the two classes mixed
    X = np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 1.0], [0.0, -1.0], [-3.0, 0.0], [4.0, -2.0]])
    sign = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    solution, margin, _ = closest(X, sign, dtype)
    np.testing.assert_allclose(solution.coef, [1, -0.5, 0, -0.5, 0, 0], atol=1e-9)
    # |w|^2 = 4 = 2 margin, and every point is beyond its level
    np.testing.assert_allclose(margin, 2, rtol=1e-9)
    np.testing.assert_allclose(solution.gradient, margin * sign - X @ [2.0, 0.0], atol=1e-9)


def test_classes_that_meet_have_no_margin_to_the_last_digits(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((60, 2))
    solution, margin, unit = closest(X, np.where(rng.random(60) < 0.5, 1.0, -1.0))
    assert abs(margin) <= 1e-9 * unit
    np.testing.assert_allclose(solution.coef @ X, 0, atol=1e-4)


def test_bounds_reduce_the_convex_hulls_to_means():
    X = np.array([[1.0], [3.0], [-1.0], [-5.0]])
    solution, margin, unit = closest(X, np.array([1.0, 1.0, -1.0, -1.0]), bound=0.5)
    np.testing.assert_allclose(solution.coef, [0.5, 0.5, -0.5, -0.5])
    # all at their bounds: the levels are those of the points farthest out
    np.testing.assert_allclose(unit, 25)
    np.testing.assert_allclose(margin, 0.5 * 5 * (3 + 5))


SIGN = np.array([1.0, 1.0, -1.0, -1.0])
LINE = np.array([[1.0], [3.0], [-1.0], [-5.0]])


def on_a_line(total, factors=(1.0, 1.0), bound=1.0):
    workspace = Workspace(1e-8, 10**6, np.empty(256**2))
    dual = classifier(SIGN, bound, total=total, factors=factors)
    return solve_nu_svc(FusedRows(mc.Linear(), LINE, np.float64), dual, workspace)


def test_nu_classification_is_in_units_of_its_margin():
    # the nearest points are 1 and -1: w = 2, the margin 1 / w is 1, half of |w|^2 = 2 s margin with s = 1
    solution = on_a_line(2.0, bound=2.0)
    np.testing.assert_allclose(solution.margin, 2, rtol=1e-9)
    np.testing.assert_allclose(solution.coef, [0.5, 0, -0.5, 0], atol=1e-9)
    np.testing.assert_allclose(solution.bias, 0, atol=1e-9)
    np.testing.assert_allclose(solution.gradient, SIGN - LINE[:, 0], atol=1e-9)


def test_classes_at_their_bounds_have_the_boundary_in_the_middle():
    # w = 1 + 3 + 1 + 5 = 10: the outermost points 3 and -5 are on the margin, in the distance of 80 of each other
    solution = on_a_line(4.0)
    np.testing.assert_allclose(solution.margin, 40, rtol=1e-9)
    np.testing.assert_allclose(solution.coef, SIGN / 40)
    # f(3) = 1 and f(-5) = -1
    np.testing.assert_allclose(0.25 * LINE[:, 0] + solution.bias, [0.5, 1, 0, -1], atol=1e-9)


def test_a_class_at_its_bounds_alone_leaves_the_boundary_to_the_factors():
    raw, coef = np.array([-5.0, -15.0, 5.0, 25.0]), np.array([0.5, 0.5, -0.25, -0.75])
    dual = replace(classifier(SIGN, 1.0), lower=np.array([0.0, 0, -1, -1]), upper=np.array([0.5, 0.5, 0, 0]))
    before = Solution(coef, raw + 2 * SIGN, 1.0, 0.0, 0)
    # the edges are the smallest -15, and the bias of the other class, 1 + 2
    for factors, share in (((1.0, 3.0), 0.75), ((3.0, 1.0), 0.5)):
        solution, margin = _place(before, replace(dual, factors=factors), 2.0)
        assert margin == share * 18
        np.testing.assert_allclose(solution.gradient, raw + margin * SIGN)
        assert solution.bias == (-6 if share == 0.5 else 3 - margin)
    # the other class: its largest is 25, the bias of this one -1
    dual = replace(dual, upper=np.array([1.0, 1, 0, 0]), lower=np.array([0.0, 0, -0.25, -0.75]))
    solution, margin = _place(before, replace(dual, factors=(4.0, 1.0)), 2.0)
    np.testing.assert_allclose([margin, solution.bias], [0.8 * 26, -1 + 0.8 * 26])
    # both at their bounds: the middle, whatever the factors
    both = replace(dual, upper=np.array([0.5, 0.5, 0, 0]), factors=(4.0, 1.0))
    solution, margin = _place(before, both, 2.0)
    assert (margin, solution.bias) == (20, 5)
    # levels that overlap are left alone
    assert _place(replace(before, gradient=-before.gradient), both, -2.0)[1] == -2.0


def test_a_small_margin_is_prescribed_if_there_is_none():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    workspace = Workspace(1e-6, 1000, np.empty(256**2))
    solution = solve_nu_svc(FusedRows(mc.Linear(), X, np.float64), classifier(SIGN, 1.0, total=2.0), workspace)
    # the means are equal: the unit is a millionth of the largest squared norm, a hundredth of it the margin
    np.testing.assert_allclose(solution.margin, 1e-8)


def test_the_unit_of_margins_is_the_squared_distance_of_the_means():
    rows = FusedRows(mc.Linear(), LINE, np.float64)
    np.testing.assert_allclose(_distance(rows, classifier(SIGN, 1.0)), 25)
    np.testing.assert_allclose(_distance(rows, classifier(np.array([1.0, 1, 1, -1]), 1.0)), 36)
    # bounds are weights: the means are 2.5 and -3
    weighted = classifier(SIGN, np.array([1.0, 3.0, 1.0, 1.0]))
    np.testing.assert_allclose(_distance(rows, weighted), 5.5**2)
    mixed = FusedRows(mc.Linear(), np.array([[1.0], [-1.0], [2.0], [-2.0]]), np.float64)
    np.testing.assert_allclose(_distance(mixed, classifier(SIGN, 1.0)), 4e-6)


def test_at_most_500_points_stand_for_a_class():
    np.testing.assert_array_equal(_some(np.arange(100, 400)), np.arange(100, 400))
    np.testing.assert_array_equal(_some(np.arange(100, 2100)), 100 + np.linspace(0, 1999, 500).astype(int))


def test_a_solution_in_margins_is_divided_by_the_margin():
    found = _in_margins(Solution(np.ones(2), np.full(2, 3.0), 5.0, 0.5, 7), 2.0)
    assert (found.coef[0], found.gradient[0], found.bias, found.violation) == (0.5, 1.5, 2.5, 0.25)
    assert (found.margin, found.n_iter) == (2.0, 7)
