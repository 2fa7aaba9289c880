"""Resources of a training: what a memory limit holds, how accurate kernel rows are, how many steps are allowed."""

import numpy as np
import pytest
from mercer.solvers.svm.workspace import COPIES, Options, SharedCallback, Workspace, buffer_size

import mercer as mc
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.rows import FusedRows
from mercer.solvers.svm.smo import LANES


def test_all_rows_fit_into_the_buffer_of_a_large_budget_with_two_groups_in_lanes_of_their_own():
    assert buffer_size(10**12, 1000, 8) == (1008 + 2 * LANES) ** 2 + 720**2
    assert buffer_size(10**12, 1025, 8) == (1040 + 2 * LANES) ** 2 + 736**2


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("itemsize", [4, 8])
def test_buffers_and_copies_beside_them_keep_to_the_budget(workers, itemsize):
    budget = 10**8
    size = buffer_size(budget, 10**6, itemsize, workers)
    taken = workers * size * itemsize * (1 + COPIES)
    assert budget * (1 - 1e-5) < taken <= budget


def test_a_buffer_holds_what_a_solver_needs_at_least():
    assert buffer_size(1, 10, 8) == 64 * LANES**2


def test_steps_are_at_least_ten_million_unless_limited():
    assert Options(1e-3).limit(10) == 10_000_000
    assert Options(1e-3).limit(10**6) == 100_000_000
    assert Options(1e-3, 7).limit(10**6) == 7


def duals_of(*bounds, n=400):
    return [Dual(np.ones(n), np.full(n, -C), np.full(n, 0.5 * C), np.zeros(n), np.arange(n)) for C in bounds]


def test_rows_are_as_accurate_as_the_largest_coefficients_need(monkeypatch):
    asked = []
    monkeypatch.setattr("mercer.solvers.svm.workspace.rows_of", lambda *args: asked.append(args))
    Options(1e-3).rows("kernel", "points", duals_of(2.0, 5.0))
    Options(1e-3).rows("kernel", "points", duals_of(np.inf))
    Options(1e-3).rows("kernel", "points", duals_of(5.0, n=100) + duals_of(5.0))
    assert asked[0] == ("kernel", "points", pytest.approx(1e-3 / (5.0 * 20)), None)
    assert asked[1][2] == 0
    assert asked[2] == asked[0]


def test_a_workspace_has_the_buffer_of_one_of_several_workers():
    rows = FusedRows(mc.Linear(), np.ones((3, 2)), np.float32)
    options = Options(0.1, 5, memory="20MB", callback=print)
    workspace = Workspace.allocate(rows, 10**4, options, workers=2, reserved=10**6)
    assert (workspace.tol, workspace.max_iter, workspace.callback) == (0.1, 5, print)
    assert workspace.buffer.dtype == np.float32
    assert len(workspace.buffer) == buffer_size(19 * 10**6, 10**4, 4, 2)
    wide = workspace.of_type(np.dtype(np.float64))
    assert (wide.buffer.dtype, len(wide.buffer)) == (np.float64, len(workspace.buffer) // 2)
    assert wide.of_type(np.dtype(np.float64)) is wide
    odd = Workspace(0.1, 5, np.empty(7, np.float32)).of_type(np.dtype(np.float64))
    assert len(odd.buffer) == 3


def test_one_answer_stops_all_workers():
    answers, heard = iter([False, True, False]), []

    def step(violation):
        heard.append(violation)
        return next(answers)

    callback = SharedCallback(step)
    assert [callback(violation) for violation in (3.0, 2.0, 1.0)] == [False, True, True]
    assert heard == [3.0, 2.0, 1.0]
