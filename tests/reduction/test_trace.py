"""Trace: errors of growing and of replaced sets, and the reasons why a run ends."""

import numpy as np
import pytest

import mercer as mc
from mercer.reduction.base import Stage, Target
from mercer.reduction.trace import Trace, best, error

RNG = np.random.default_rng(2)
X = RNG.normal(size=(25, 2))
C = RNG.normal(size=(25, 2))
KERNEL = mc.Gaussian(0.7)


def _target(dtype=np.float64):
    return Target(mc.Expansion(KERNEL, X.astype(dtype), C.astype(dtype)))


def _alone(target, rows):
    return best(target, target.points[rows])[1]


def test_errors_do_not_depend_on_earlier_sets():
    target = _target()
    trace = Trace(target)
    for rows in ([3], [3, 1], [3, 1, 7, 9], [0, 2, 4, 6, 8], [0, 2, 4, 6, 8, 1]):
        rows = np.array(rows)
        np.testing.assert_allclose(
            trace.record(Stage(target.points, rows)), _alone(target, rows), rtol=1e-9
        )
    np.testing.assert_array_equal(trace.sizes, [1, 2, 4, 5, 6])


def test_a_set_of_the_same_size_replaces_the_last_only_if_it_is_better():
    target = _target()
    sets = sorted(
        [[0, 1, 2], [3, 4, 5], [6, 7, 8]],
        key=lambda rows: _alone(target, rows) ** 2 @ target.squares,
    )
    for order in (sets, sets[::-1]):
        trace = Trace(target)
        for rows in order:
            trace.record(Stage(target.points, np.array(rows)))
        np.testing.assert_array_equal(trace.stages[0].rows, sets[0])
        assert len(trace.sizes) == 1


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-9), (np.float32, 1e-3)])
def test_a_result_has_the_type_of_psi_and_the_error_of_the_difference(dtype, tol):
    target = _target(dtype)
    trace = Trace(target)
    trace.record(Stage(target.points, np.arange(12)))
    expansion, relative = trace.result(0)
    assert expansion.points.dtype == expansion.coef.dtype == dtype
    difference = mc.Expansion(
        KERNEL,
        np.concatenate([X.astype(dtype), expansion.points]).astype(np.longdouble).astype(float),
        np.concatenate([C.astype(dtype).astype(float), -expansion.coef.astype(float)]),
    )
    np.testing.assert_allclose(relative, difference.norms() / np.sqrt(target.squares), rtol=tol)
    np.testing.assert_allclose(
        trace.history[0] ** 2, relative**2 @ target.squares / target.squares.sum(), rtol=tol
    )


def test_a_run_ends_by_number_tolerance_callback_or_without_further_sets():
    target = _target()
    order = np.arange(20)
    stages = [Stage(target.points, order[: s + 1]) for s in range(20)]
    assert Trace(target).run(stages, 4, 0.0) == "n_vectors = 4 reached"
    trace = Trace(target)
    assert trace.run(stages, 20, 0.5).startswith("tol = 0.5 reached")
    assert trace.reached(0.5)
    assert not trace.reached(0.5 * trace.target.relative(trace.residuals[-1]).max())
    assert "callback" in Trace(target).run(stages, 20, 0.0, lambda size, _: size == 3)
    assert "no further" in Trace(target).run(stages[:5], 20, 0.0)


def test_the_error_of_any_coefficients_is_their_distance():
    target, A = _target(), RNG.normal(size=(4, 2))
    distance = (target.psi - mc.Expansion(KERNEL, X[:4], A)).norms() / np.sqrt(target.squares)
    np.testing.assert_allclose(error(target, X[:4], A), distance, rtol=1e-10)


def test_the_last_of_many_sets_is_the_one_that_is_replaced_and_whose_error_counts():
    target = _target()
    trace = Trace(target)
    for rows in ([0], [0, 1], [0, 1, 2], [0, 1, 2, 3]):
        trace.record(Stage(target.points, np.array(rows)))
    errors = {i: (_alone(target, [0, 1, 2, i]) ** 2) @ target.squares for i in range(3, 25)}
    best_rows, worst_rows = ([0, 1, 2, pick(errors, key=errors.get)] for pick in (min, max))
    kept = _alone(target, best_rows)
    np.testing.assert_allclose(
        trace.record(Stage(target.points, np.array(best_rows))), kept, rtol=1e-9
    )
    np.testing.assert_allclose(
        trace.record(Stage(target.points, np.array(worst_rows))), kept, rtol=1e-9
    )
    np.testing.assert_array_equal(trace.stages[-1].rows, best_rows)
    np.testing.assert_array_equal(trace.sizes, [1, 2, 3, 4])
    assert trace.reached(kept.max() * (1 + 1e-9))
    assert not trace.reached(kept.max() * (1 - 1e-9))
    # a later smaller set is not a new size either
    trace.record(Stage(target.points, np.array([5])))
    np.testing.assert_array_equal(trace.sizes, [1, 2, 3, 4])
    expected = [(_alone(target, [0, 1, 2][:size]) ** 2) @ target.squares for size in (1, 2, 3)]
    np.testing.assert_allclose(trace.history[:3] ** 2, expected / target.squares.sum(), rtol=1e-8)


@pytest.mark.parametrize(
    "coef", [None, C, C.astype(np.float32)], ids=["features", "double", "single"]
)
def test_coefficients_are_single_where_points_and_coefficients_are(coef):
    points = X.astype(np.float32)
    expansion, relative = best(Target(mc.Expansion(KERNEL, points, coef)), points[:5])
    assert expansion.points.dtype == np.float32
    assert (
        expansion.coef.dtype == (np.float64 if coef is C else np.float32)
        or expansion.coef.dtype == np.float32
    )
    assert (relative < 1).all()


def test_a_vector_0_has_the_history_0():
    target = Target(mc.Expansion(KERNEL, X, np.zeros((25, 1))))
    trace = Trace(target)
    trace.record(Stage(target.points, np.array([0])))
    np.testing.assert_array_equal(trace.history, 0)
