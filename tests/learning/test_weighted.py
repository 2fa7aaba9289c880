"""A weighted sum of kernels is an ordinary kernel."""

import numpy as np

import mercer as mc
from mercer.learning.weighted import weighted_sum


def test_the_sum_has_the_weighted_values_and_drops_kernels_of_weight_0():
    X = np.random.default_rng(0).normal(size=(6, 2))
    kernels = [mc.Gaussian(1.0), mc.Linear(), mc.Polynomial(2)]
    kernel = weighted_sum(kernels, np.array([2.0, 0.0, 0.5]))
    assert kernel == 2.0 * kernels[0] + 0.5 * kernels[2]
    np.testing.assert_allclose(kernel(X), 2 * kernels[0](X) + 0.5 * kernels[2](X))
