"""Duals between bounds: feasible starts, certificates."""

import numpy as np
import pytest

from mercer.solvers.svm.duals import box_certificate, filled, ridged_certificate
from mercer.solvers.svm.smo import Dual


def test_filled_coefficients_are_feasible_and_have_the_sum(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    upper = rng.random(30)
    for total in (0.0, 0.3, upper.sum() / 2, upper.sum()):
        coef = filled(upper, total)
        assert (coef >= 0).all()
        assert (coef <= upper).all()
        np.testing.assert_allclose(coef.sum(), total, atol=1e-12)


@pytest.mark.parametrize("tube", [0.0, 0.4])
def test_the_gap_of_a_certificate_bounds_the_distance_to_the_optimum(global_random_seed, tube):
    """Weak duality: no feasible point of the dual lies above the primal value of another."""
    rng = np.random.default_rng(global_random_seed)
    n = 12
    A = rng.standard_normal((n, n))
    K, t, upper = A @ A.T, rng.standard_normal(n), rng.random(n)
    dual = Dual(t, np.zeros(n), upper, np.zeros(n), np.arange(n), tube)

    def certificate(coef):
        scores = t - K @ coef
        return box_certificate(dual, coef, scores, float(np.median(scores)))

    shared = 0.5 * upper.sum()
    # feasible points of one sum, as the equality constraint asks
    points = [filled(upper[order], shared)[np.argsort(order)] for order in (rng.permutation(n) for _ in range(40))]
    certificates = [certificate(coef) for coef in points]
    assert max(each.dual for each in certificates) <= min(each.primal for each in certificates) + 1e-12
    assert all(each.gap >= 0 for each in certificates)


def test_the_primal_of_a_tube_is_the_norm_and_the_errors_beyond_it(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    A, t, coef, bias = rng.standard_normal((9, 9)), rng.standard_normal(9), rng.uniform(-2, 2, 9), 0.1
    K = A @ A.T
    dual = Dual(t, np.full(9, -2.0), np.full(9, 2.0), np.zeros(9), np.arange(9), 0.3)
    coef -= coef.mean()
    coef[:3] = 0.0, 1.0, -1.0
    coef[3:] -= coef.sum() / 6
    error = t - K @ coef - bias
    primal = 0.5 * coef @ K @ coef + 2 * np.maximum(np.abs(error) - 0.3, 0).sum()
    certificate = box_certificate(dual, coef, t - K @ coef, bias)
    np.testing.assert_allclose(certificate.primal, primal, rtol=1e-12)
    np.testing.assert_allclose(
        certificate.dual, t @ coef - 0.3 * np.abs(coef).sum() - 0.5 * coef @ K @ coef, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("tube", "bound", "loss"),
    [
        (0.3, np.inf, lambda r: 2.5 * np.maximum(np.abs(r) - 0.3, 0) ** 2),
        (0.0, 1.2, lambda r: np.where(np.abs(r) < 0.24, 2.5 * r**2, 1.2 * np.abs(r) - 0.144)),
    ],
    ids=["squared", "huber"],
)
def test_the_primal_of_a_ridge_is_the_norm_and_the_loss_of_the_residuals(global_random_seed, tube, bound, loss):
    rng = np.random.default_rng(global_random_seed)
    A, t, coef, bias = rng.standard_normal((9, 9)), rng.standard_normal(9), rng.uniform(-0.5, 0.5, 9), 0.1
    K, ridge = A @ A.T, np.full(9, 0.2)
    coef -= coef.mean()
    dual = Dual(t, np.full(9, -bound), np.full(9, bound), np.zeros(9), np.arange(9), tube)
    certificate = ridged_certificate(dual, ridge, coef, t - K @ coef - ridge * coef, bias)
    primal = 0.5 * coef @ K @ coef + loss(t - K @ coef - bias).sum()
    np.testing.assert_allclose(certificate.primal, primal, rtol=1e-12)
    value = t @ coef - tube * np.abs(coef).sum() - 0.5 * coef @ K @ coef - 0.1 * coef @ coef
    np.testing.assert_allclose(certificate.dual, value, rtol=1e-12)
