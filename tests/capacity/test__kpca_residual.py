import numpy as np
import pytest

import mercer as mc
from mercer.capacity import kpca_residual


def expected_residual(kernel, X, fresh, k):
    U, _ = mc.svd(mc.features(kernel, X), k, centre=False)
    return float(np.mean(kernel.diag(fresh) - np.sum(U(fresh) ** 2, axis=1)))


def test_the_bound_holds_where_it_says_something(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    kernel, failures = mc.Gaussian(0.2), 0
    fresh = rng.normal(size=(1000, 1))
    for _ in range(20):
        X = rng.normal(size=(900, 1))
        bound = kpca_residual(kernel, X, 3, confidence=0.9)
        assert not bound.vacuous
        failures += expected_residual(kernel, X, fresh, 3) > bound.value
    assert failures <= 2 + 3 * np.sqrt(20 * 0.1 * 0.9)


def test_it_falls_with_the_number_of_points_as_one_over_its_root():
    rng = np.random.default_rng(0)
    values = [kpca_residual(mc.Gaussian(0.05), rng.normal(size=(n, 1)), 2).value for n in (400, 1600)]
    left = 0.003
    assert 0.4 < (values[1] - left) / (values[0] - left) < 0.6


def test_more_components_never_make_it_worse(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(200, 2))
    values = [kpca_residual(mc.Gaussian(0.5), X, k).value for k in (1, 3, 10)]
    assert values == sorted(values, reverse=True)


def test_a_diagonal_that_varies_is_an_assumption():
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert any("for all x" in text for text in kpca_residual(mc.Linear(), X, 2).assumptions)
    assert not any("for all x" in text for text in kpca_residual(mc.Gaussian(1.0), X, 2).assumptions)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_is_a_probability(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        kpca_residual(mc.Gaussian(1.0), np.eye(3), 1, confidence=confidence)
