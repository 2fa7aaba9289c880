"""Duals and solutions in joined arrays are those of lists of them."""

from dataclasses import fields, replace

import numpy as np
import pytest

import mercer as mc
from mercer.solvers._certify import Certificate
from mercer.solvers.svm.dual import Dual, joined, stops_of
from mercer.solvers.svm.pairs import subproblems
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.several import Solutions, kinds_of
from mercer.solvers.svm.whole import solve_whole
from mercer.solvers.svm.workspace import Options, Workspace

COUNTS = np.array([20, 35, 25, 30])
NAMES = "target", "lower", "upper", "coef", "points"


def _duals(seed, multi_class="ovo"):
    rng = np.random.default_rng(seed)
    C, problems = rng.uniform(1, 3, COUNTS.sum()), subproblems(COUNTS, multi_class)
    return problems.duals(C), [problem.dual(C) for problem in problems]


def _assert_equal(found, expected, names):
    for name in names:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_dual_that_is_taken_is_that_of_its_classifier(global_random_seed, multi_class):
    duals, alone = _duals(global_random_seed, multi_class)
    assert len(duals) == len(alone) == {"ovo": 6, "ovr": 4}[multi_class]
    for found, expected in zip(duals, alone, strict=True):
        _assert_equal(found, expected, [field.name for field in fields(Dual)])
    _assert_equal(duals[-1], alone[-1], NAMES)
    with pytest.raises(IndexError):
        duals[len(duals)]
    assert [len(kinds_of(each)) for each in (duals, alone)] == [1, len(alone)]


@pytest.mark.parametrize("part", [slice(0, 6), slice(2, 5), slice(3, None), slice(5, 6)])
def test_a_slice_of_duals_holds_its_duals_from_0_on(part):
    duals, alone = _duals(0)
    own = duals[part]
    assert own.stops[0] == 0
    for found, expected in zip(own, alone[part], strict=True):
        _assert_equal(found, expected, NAMES)
    for name in NAMES:
        np.testing.assert_array_equal(joined(own, name), joined(alone[part], name))
    np.testing.assert_array_equal(stops_of(own), stops_of(alone[part]))


def _solved(seed):
    duals, _ = _duals(seed)
    rows = rows_of(mc.Gaussian(0.4), np.random.default_rng(seed).normal(size=(COUNTS.sum(), 3)), 0.0)
    workspace = Workspace.allocate(rows, 110, Options(1e-3))
    return duals, lambda part: solve_whole(rows, part, workspace, 10**6)


def test_solutions_of_groups_are_those_of_all_duals(global_random_seed):
    duals, solve = _solved(global_random_seed)
    together = Solutions.joined([solve(duals[:2]), solve(duals[2:])])
    _assert_equal(together, solve(duals), [field.name for field in fields(Solutions)])
    for found, dual in zip(together, duals, strict=True):
        (alone,) = solve([dual])
        _assert_equal(found, alone, ["coef", "gradient", "bias", "violation", "n_iter", "n_rows", "certificate"])


def test_a_solution_that_is_stored_is_the_one_that_is_taken():
    duals, solve = _solved(0)
    solutions, before = solve(duals), list(solve(duals))
    own = replace(before[2], coef=before[2].coef + 1, bias=7.0, n_iter=9, noise=0.5, certificate=Certificate(3, 2, 0.1))
    own = replace(own, violation=0.1)
    solutions[2] = own
    names = "coef", "gradient", "bias", "violation", "n_iter", "n_rows", "noise", "epsilon", "certificate"
    for k, found in enumerate(solutions):
        _assert_equal(found, own if k == 2 else before[k], names)
    assert joined(solutions, "primal").tolist() == [each.certificate.primal for each in solutions]
    np.testing.assert_array_equal(joined(solutions, "bias"), joined(list(solutions), "bias"))
