"""Sweeps: steps over some variables change these alone, rows come and go within the memory."""

from dataclasses import replace

import numpy as np
import pytest
from mercer.solvers.svm.bias import slopes
from mercer.solvers.svm.shrinking import Variables
from mercer.solvers.svm.workspace import Workspace

import mercer as mc
from mercer.solvers.svm import sweep as sweep_module
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.sweep import Sweep, _largest

N = 600
KERNEL = mc.Gaussian(0.5)


@pytest.fixture
def problem(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((N, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(N) > 0, 1.0, -1.0)
    return FusedRows(KERNEL, X, np.float64), Dual(y, np.minimum(y, 0), np.maximum(y, 0), np.zeros(N), np.arange(N))


def started(problem, chosen):
    data, dual = problem
    workspace = Workspace(1e-6, 10**6, np.empty(N * 768))
    return Sweep(data, dual, chosen, dual.target.copy(), dual.coef, workspace)


@pytest.mark.parametrize("dense", [False, True])
def test_a_sweep_solves_for_its_variables_as_if_there_were_no_others(problem, monkeypatch, dense):
    monkeypatch.setattr(sweep_module, "_QUICK", 0)
    chosen = np.arange(0, N, 2)
    sweep = started(problem, chosen)
    steps, stopped = sweep.run(1e-6, 10**6, dense=dense)
    assert (sweep.cache.slots[: len(chosen)] >= 0).all() or not dense
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
    assert not sweep.exchange(np.arange(151, 451), problem[1], gradient, coef)
    other = np.arange(150, 450)
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
    assert steps <= 1024


def test_the_largest_are_finite_and_no_more_than_asked_for():
    values = np.array([1.0, -np.inf, 5.0, 3.0])
    assert sorted(_largest(values, 2)) == [2, 3]
    assert sorted(_largest(values, 9)) == [0, 2, 3]


# --- rows that come and go --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "work", "given", "known"),
    [
        # 300^2 values of 3 coordinates, a norm and a 1, each for two places
        (300**2, 225_000, 0, True),
        (300**2 - 1, 225_000, 0, False),
        (300**2, 224_999, 0, False),
        # 100^2 + 200^2 of the values are known
        (300**2, 100_000, 100, True),
        (300**2, 99_999, 100, False),
    ],
)
def test_all_rows_are_computed_at_once_if_they_are_few_and_cost_little(
    problem, monkeypatch, values, work, given, known
):
    monkeypatch.setattr(sweep_module, "_SMALL", values)
    monkeypatch.setattr(sweep_module, "_QUICK", work)
    rows, dual = problem
    cuts = [slice(0, given), slice(given, 300)] if given else []
    shared = [(cut, rows.square(np.arange(cut.start, cut.stop))) for cut in cuts]
    workspace = Workspace(1e-6, 10**6, np.empty(N * 768), shared)
    sweep = Sweep(rows, dual, np.arange(300), dual.target.copy(), dual.coef, workspace)
    assert (sweep.cache.slots[:300] >= 0).all() == known
    # a start with coefficients may need few rows
    moved = Sweep(rows, dual, np.arange(300), dual.target.copy(), 0.5 * dual.upper, workspace)
    assert (moved.cache.slots < 0).all()


class Cache:
    """The rows of all but some places."""

    def __init__(self, n, missing=(), forgotten=0):
        self.slots, self.forgotten, self.lost, self.asked = np.arange(n), forgotten, [], []
        self.slots[list(missing)] = -1
        self.values = None

    def forget(self, places):
        self.lost = sorted(places.tolist())

    def ensure(self, places):
        self.asked = places.tolist()


def bare(variables, cache):
    """Return a sweep over all variables, with a cache that holds nothing."""
    sweep = object.__new__(Sweep)
    sweep._variables, sweep.cache, sweep._callback = variables, cache, None
    sweep.chosen, sweep._largest_copy = np.arange(len(variables)), 10**6
    return sweep


def resting(n, violating=0):
    """Return variables around a bias of 0: two of a pair, some that violate, and others farther and farther below."""
    order = np.arange(n)
    gradient = np.where(order < 2 + violating, 1.0, -order)
    coef = np.where(order == 1, 1.0, 0.0)
    gradient[1] = -1
    return Variables(np.ones(n), gradient, coef, np.zeros(n), np.ones(n))


@pytest.mark.parametrize(
    ("violating", "options", "lost"),
    [
        (0, {}, range(33, 64)),
        (30, {}, []),
        (28, {}, range(47, 64)),
        (0, {"forgotten": 4}, []),
        (0, {"forgotten": 3}, range(33, 64)),
        (0, {"missing": range(19, 64)}, []),
        (0, {"missing": range(20, 64)}, range(11, 20)),
    ],
)
def test_half_of_the_idle_rows_are_given_up_if_they_are_many(monkeypatch, violating, options, lost):
    monkeypatch.setattr(sweep_module, "_IDLE", 20)
    monkeypatch.setattr(sweep_module, "_BATCH", 4)
    sweep = bare(resting(64, violating), Cache(64, **options))
    sweep._make_room()
    assert sweep.cache.lost == list(lost)


def test_rows_are_computed_together_for_variables_that_violate_at_least_half_as_much(monkeypatch):
    gradient, coef = np.full(64, -9.0), np.zeros(64)
    # bias 0: violations 4, 3, 2.5, 2, 1.9, a free variable of 3.5 and one that should fall by 4
    gradient[:7], coef[5:7] = [4.0, 3.0, 2.5, 2.0, 1.9, 3.5, -4.0], [0.5, 1.0]
    variables = Variables(np.ones(64), gradient, coef, np.zeros(64), np.ones(64))
    missing = [0, 1, 2, 3, 4, 5, 30]
    for batch, expected in ((9, [0, 1, 2, 3, 5, 30]), (4, [0, 1, 5, 30]), (1, [30])):
        monkeypatch.setattr(sweep_module, "_BATCH", batch)
        assert bare(variables, Cache(64, missing))._wanted(30).tolist() == expected


@pytest.mark.parametrize(
    ("unknown", "all_near", "copied", "solved"),
    [(14, True, 6400, True), (15, True, 6400, False), (15, False, 6400, True), (0, True, 6399, False)],
)
def test_variables_near_the_margin_are_solved_for_if_few_rows_are_missing(
    monkeypatch, unknown, all_near, copied, solved
):
    monkeypatch.setattr(sweep_module, "_BATCH", 4)
    near = np.arange(80)
    monkeypatch.setattr(sweep_module.shrinking, "near_margin", lambda _: (near, all_near))
    monkeypatch.setattr(sweep_module.shrinking, "solve_near", lambda *_: (1600, True))
    sweep = bare(resting(192), Cache(192, range(unknown)))
    sweep._largest_copy = copied
    # 1600 steps over 192 variables are worth 6400 copies
    assert sweep._solve_near(1e-3, 10**6) == ((1600, True, True) if solved else (0, False, False))
    assert sweep.cache.asked == list(range(unknown)) * solved


def test_at_most_2048_variables_of_known_rows_are_solved_for(monkeypatch):
    near = []
    monkeypatch.setattr(sweep_module.shrinking, "solve_near", lambda *args: near.append(args[3]) or (5, False))
    n = 2112
    variables = Variables(np.ones(n), np.zeros(n), np.full(n, 0.5), np.zeros(n), np.ones(n))
    assert bare(variables, Cache(n, range(64)))._solve_known(1e-3, 9) == (5, False)
    np.testing.assert_array_equal(near[0], np.arange(64, n))
    assert bare(variables, Cache(n, range(63)))._solve_known(1e-3, 9) == (0, False)
