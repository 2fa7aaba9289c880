"""The closest points of two convex hulls, against geometry."""

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.max_margin import widest_margin
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.working_set import LANES
from mercer.solvers.svm.workspace import Workspace


def closest(X, sign, dtype=np.float64, bound=2.0, tol=1e-6):
    """Return the solution, margin and unit of convex hulls in the input space."""
    workspace = Workspace(tol, 10**6, np.empty((4 * LANES) ** 2, dtype))
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
