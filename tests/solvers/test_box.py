"""Duals between bounds: feasible starts, certificates."""

import numpy as np

from mercer.solvers.box import box_certificate, filled
from mercer.solvers.smo import Dual


def test_filled_coefficients_are_feasible_and_have_the_sum(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    upper = rng.random(30)
    for total in (0.0, 0.3, upper.sum() / 2, upper.sum()):
        coef = filled(upper, total)
        assert (coef >= 0).all()
        assert (coef <= upper).all()
        np.testing.assert_allclose(coef.sum(), total, atol=1e-12)


def test_the_gap_of_a_certificate_bounds_the_distance_to_the_optimum(global_random_seed):
    """Weak duality: no feasible point of the dual lies above the primal value of another."""
    rng = np.random.default_rng(global_random_seed)
    n = 12
    A = rng.standard_normal((n, n))
    K, t, upper = A @ A.T, rng.standard_normal(n), rng.random(n)
    dual = Dual(t, np.zeros(n), upper, np.zeros(n), np.arange(n))

    def certificate(coef):
        scores = t - K @ coef
        return box_certificate(dual, coef, scores, float(np.median(scores)))

    shared = 0.5 * upper.sum()
    # feasible points of one sum, as the equality constraint asks
    points = [filled(upper[order], shared)[np.argsort(order)] for order in (rng.permutation(n) for _ in range(40))]
    certificates = [certificate(coef) for coef in points]
    assert max(each.dual for each in certificates) <= min(each.primal for each in certificates) + 1e-12
    assert all(each.gap >= 0 for each in certificates)
