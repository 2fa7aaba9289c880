"""Sweeps: steps over some variables change these alone, rows come and go within the memory."""

from dataclasses import replace

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm.dual import Dual, slopes
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.sweep import Sweep, _largest
from mercer.solvers.svm.workspace import Workspace

N = 600
KERNEL = mc.Gaussian(0.5)


@pytest.fixture
def problem(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((N, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(N) > 0, 1.0, -1.0)
    return FusedRows(KERNEL, X, np.float64), Dual(y, np.minimum(y, 0), np.maximum(y, 0), np.zeros(N), np.arange(N))


def started(problem, chosen, rows=N):
    data, dual = problem
    workspace = Workspace(1e-6, 10**6, np.empty(rows * 768))
    return Sweep(data, dual, chosen, dual.target.copy(), dual.coef, workspace)


@pytest.mark.parametrize("rows", [N, 40], ids=["all rows", "few rows"])
def test_a_sweep_solves_for_its_variables_as_if_there_were_no_others(problem, rows):
    chosen = np.arange(0, N, 2)
    sweep = started(problem, chosen, rows)
    steps, stopped = sweep.run(1e-6, 10**6)
    coef, gradient = sweep.result()
    dual = problem[1].take(chosen)
    assert steps > 0
    assert not stopped
    np.testing.assert_allclose(gradient, dual.target - KERNEL(problem[0].points[chosen]) @ coef, atol=1e-10)
    rising, falling = slopes(gradient, coef, dual)
    assert rising.max() - falling.min() <= 1e-6
    assert abs(coef.sum()) < 1e-12


def test_few_variables_are_exchanged_and_many_are_not(problem):
    sweep = started(problem, np.arange(300))
    sweep.run(1e-3, 10**6)
    coef, gradient = problem[1].coef, problem[1].target
    assert not sweep.exchange(np.arange(200, 500), problem[1], gradient, coef)
    assert not sweep.exchange(np.arange(299), problem[1], gradient, coef)
    other = np.arange(100, 400)
    assert sweep.exchange(other, problem[1], gradient, coef)
    np.testing.assert_array_equal(np.sort(sweep.chosen), other)
    sweep.run(1e-6, 10**6)
    coef, gradient = sweep.result()
    K = KERNEL(problem[0].points[sweep.chosen])
    np.testing.assert_allclose(gradient, problem[1].target[sweep.chosen] - K @ coef, atol=1e-10)


def test_another_epsilon_is_taken_on_exchange(problem):
    rows, dual = problem
    sweep = started(problem, np.arange(N))
    wide = replace(dual, lower=-np.ones(N), upper=np.ones(N), epsilon=2.0)
    assert sweep.exchange(np.arange(N), wide, dual.target, dual.coef)
    # nothing moves within epsilon of a constant
    assert sweep.run(1e-6, 10**6) == (0, False)


def test_a_callback_stops_a_sweep(problem):
    rows, dual = problem
    workspace = Workspace(1e-6, 10**6, np.empty(N * 768), callback=lambda _: True)
    steps, stopped = Sweep(rows, dual, np.arange(N), dual.target.copy(), dual.coef, workspace).run(1e-12, 10**6)
    assert stopped
    assert steps <= 768


def test_the_largest_are_finite_and_no_more_than_asked_for():
    values = np.array([1.0, -np.inf, 5.0, 3.0])
    assert sorted(_largest(values, 2)) == [2, 3]
    assert sorted(_largest(values, 9)) == [0, 2, 3]
