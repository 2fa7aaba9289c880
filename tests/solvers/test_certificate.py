import numpy as np
import pytest

import mercer as mc
from mercer.solvers.certificate import Certificate, hinge_certificate, total
from mercer.solvers.smo import Dual


def test_a_problem_solved_by_hand_has_no_gap():
    # x = -1 and 1, linear kernel: w = 1, b = 0, alpha = 1/2 each
    dual = Dual(np.array([-1.0, 1.0]), np.array([-9.0, 0.0]), np.array([0.0, 9.0]), np.zeros(2), np.arange(2))
    coef = np.array([-0.5, 0.5])
    certificate = hinge_certificate(dual, coef, dual.target - np.array([-1.0, 1.0]), 0.0)
    assert (certificate.primal, certificate.dual, certificate.gap, certificate.kkt) == (0.5, 0.5, 0.0, 0.0)


def test_the_start_has_the_gap_of_doing_nothing():
    dual = Dual(np.array([-1.0, 1.0]), np.array([-9.0, 0.0]), np.array([0.0, 9.0]), np.zeros(2), np.arange(2))
    certificate = hinge_certificate(dual, np.zeros(2), dual.target, 0.0)
    assert (certificate.primal, certificate.dual, certificate.kkt) == (18.0, 0.0, 2.0)


def test_objectives_add_up_and_the_worst_violation_counts():
    certificate = total([Certificate(3.0, 2.0, 0.1), Certificate(1.0, 1.0, 0.5)])
    assert (certificate.primal, certificate.dual, certificate.gap, certificate.kkt) == (4.0, 3.0, 1.0, 0.5)


def test_a_changed_coefficient_is_noticed(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((80, 2))
    y = (X[:, 0] > 0.2 * X[:, 1]).astype(int)
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    before = mc.certify(model, X, y)
    model.dual_coef_ = model.dual_coef_ * 0.9
    after = mc.certify(model, X, y)
    assert before.kkt < 1e-10 < 1e-3 < after.kkt
    assert after.dual < before.dual
    assert after.gap > before.gap


@pytest.mark.parametrize("weighted", [False, True])
def test_certificates_bracket_the_optimum(global_random_seed, weighted):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] > 0.3 * rng.standard_normal(80)).astype(int)
    weights = rng.uniform(0, 2, 80) * (rng.random(80) > 0.2) if weighted else None
    rough = mc.SVC(kernel=mc.Gaussian(0.5), max_iter=20)
    with pytest.warns(UserWarning, match="stopped after 20 steps"):
        rough.fit(X, y, sample_weight=weights)
    optimum = mc.certify(mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y, sample_weight=weights), X, y, weights).dual
    certificate = mc.certify(rough, X, y, weights)
    assert certificate.dual < optimum < certificate.primal
