from dataclasses import replace

import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm.active_set import solve_active_set
from mercer.solvers.svm.compiled_active_set import newton_steps
from mercer.solvers.svm.dual import Dual, violation_of
from mercer.solvers.svm.one_constraint import solve_one_constraint
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.workspace import Options, Workspace


def _near_optimum(seed, epsilon):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    K = mc.Gaussian(0.7)(X)
    target = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=60) if epsilon else np.where(X[:, 0] > 0.2, 1.0, -1.0)
    lower, upper = (
        (np.full(60, -2.0), np.full(60, 2.0)) if epsilon else (2 * np.minimum(target, 0), 2 * np.maximum(target, 0))
    )
    dual = Dual(target, lower, upper, np.zeros(60), np.arange(60), epsilon)
    rows = rows_of(mc.Gaussian(0.7), X, 0.0)
    found = solve_one_constraint(rows, dual, Workspace.allocate(rows, 60, Options(1e-2)))
    # a start that is a hundredth off
    coef = np.clip(found.coef + np.where((found.coef > lower) & (found.coef < upper), 1e-3, 0), lower, upper)
    coef -= np.where((coef > lower) & (coef < upper), (coef.sum() - found.coef.sum()) / 60, 0)
    return K, dual, coef, target - K @ coef, found.bias


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_steps_lead_to_the_optimum_and_keep_the_sum(epsilon, global_random_seed):
    K, dual, start, gradient, bias = _near_optimum(global_random_seed, epsilon)
    coef, f = start.copy(), gradient.copy()
    newton_steps(K, f, coef, dual.lower, dual.upper, epsilon, bias, 1e9)
    assert violation_of(f, coef, dual) < 1e-10
    assert abs(coef.sum() - start.sum()) < 1e-10
    np.testing.assert_allclose(f, dual.target - K @ coef, atol=1e-11)


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_the_optimum_is_that_of_the_interpreted_steps(epsilon, global_random_seed):
    K, dual, start, gradient, bias = _near_optimum(global_random_seed, epsilon)
    other = solve_active_set(K, gradient.copy(), replace(dual, coef=start), bias, None)[0]
    coef = start.copy()
    newton_steps(K, gradient, coef, dual.lower, dual.upper, epsilon, bias, 1e9)
    np.testing.assert_allclose(coef, other, atol=1e-7)


def test_steps_that_would_take_too_many_operations_are_not_taken():
    K, dual, start, gradient, bias = _near_optimum(0, 0.0)
    coef = start.copy()
    newton_steps(K, gradient, coef, dual.lower, dual.upper, 0.0, bias, 100.0)
    np.testing.assert_array_equal(coef, start)
