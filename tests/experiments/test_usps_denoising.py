"""Kernel PCA removes noise better than linear PCA, which keeps all pixels with 256 components."""

import numpy as np
import pytest
from experiments._denoisers import kernel_answers, linear_answers
from experiments._usps import draw, error, gaussian, speckle

import mercer as mc
from mercer import datasets


@pytest.mark.data
def test_linear_answers_with_all_components_are_the_digits(data):
    data("usps")
    train, clean = draw(0)
    answers = linear_answers(train[::4], clean[::10], [16, 256, 1024])
    np.testing.assert_allclose(answers[256], clean[::10], atol=1e-8)
    np.testing.assert_array_equal(answers[1024], answers[256])
    assert error(answers[16], clean[::10]) > 1


@pytest.mark.data
def test_kernel_pca_removes_more_noise_than_linear_pca(data):
    data("usps")
    train, clean = draw(0)
    train, clean = datasets.smooth(train[::4]), datasets.smooth(clean[::10])
    noisy = gaussian(clean, np.random.default_rng(0))
    pca = mc.KernelPCA(256, kernel=mc.Gaussian(1 / 128)).fit(train)
    kernel = kernel_answers(pca, noisy, [128, 256])
    linear = linear_answers(train, noisy, [8, 16, 32, 64])
    assert min(error(X, clean) for X in kernel.values()) < min(
        error(X, clean) for X in linear.values()
    )


def test_speckle_sets_the_wanted_share_of_pixels_to_the_extremes():
    noisy = speckle(np.zeros((100, 256)), np.random.default_rng(0), p=0.2)
    assert abs(np.mean(noisy == 1) - 0.1) < 0.01
    assert abs(np.mean(noisy == -1) - 0.1) < 0.01
