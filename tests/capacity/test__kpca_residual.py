import numpy as np
import pytest

import mercer as mc
from mercer.capacity import kpca_residual


def expected_residual(kernel, X, fresh, k):
    U, _ = mc.svd(mc.features(kernel, X), k, centre=False)
    return float(np.mean(kernel.diag(fresh) - np.sum(U(fresh) ** 2, axis=1)))


def test_the_bound_is_that_of_the_formula():
    # Shawe-Taylor et al. (2005), theorem 1, by hand for a Gram matrix diag(4, 1, 1, 0):
    # min(2/4 + 2/2 * 3, 1/4 + (1 + sqrt 2)/2 * 3) + 4 sqrt(18/4 log(8 / 0.05)) = 3.5 + 19.1157661
    bound = kpca_residual(mc.Linear(), np.diag([2.0, 1.0, 1.0, 0.0]), 2)
    assert bound.value == pytest.approx(22.6157661, abs=1e-7)
    assert bound.trivial == 4
    assert bound.confidence == 0.95
    # two directions with 50 points each: 0 + (1 + sqrt 2)/10 * sqrt 2 + sqrt(18/100 log(200 / 0.1))
    bound = kpca_residual(mc.Linear(), np.repeat(np.eye(2), 50, axis=0), 2, confidence=0.9)
    assert bound.value == pytest.approx(0.3414214 + 1.1696848, abs=1e-7)


def test_the_bound_holds_where_it_is_not_vacuous(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    kernel, fresh = mc.Gaussian(0.05), rng.normal(size=(500, 1))
    for _ in range(3):
        X = rng.normal(size=(300, 1))
        bound = kpca_residual(kernel, X, 2, confidence=0.9)
        assert not bound.vacuous
        assert expected_residual(kernel, X, fresh, 2) <= bound.value


def test_more_components_never_make_it_worse(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(200, 2))
    values = [kpca_residual(mc.Gaussian(0.5), X, k).value for k in (1, 3, 10)]
    assert values == sorted(values, reverse=True)


def test_a_diagonal_that_varies_is_an_assumption():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert any("for all x" in text for text in kpca_residual(mc.Linear(), X, 2).assumptions)
    for kernel in (mc.Gaussian(1.0), 1e8 * mc.Normalized(mc.Linear() + 1.0)):
        assert not any("for all x" in text for text in kpca_residual(kernel, X, 2).assumptions)


def test_a_given_matrix_has_the_bound_of_its_kernel():
    X = np.random.default_rng(0).normal(size=(50, 2))
    given = kpca_residual(mc.Precomputed(), mc.Polynomial(2)(X), 3)
    assert given.value == pytest.approx(kpca_residual(mc.Polynomial(2), X, 3).value)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_is_a_probability(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        kpca_residual(mc.Gaussian(1.0), np.eye(3), 1, confidence=confidence)


def test_at_least_one_component_is_asked_for():
    with pytest.raises(ValueError, match="n_components = 0"):
        kpca_residual(mc.Gaussian(1.0), np.eye(3), 0)
