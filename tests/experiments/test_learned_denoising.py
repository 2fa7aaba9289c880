"""Posterior means follow Bayes' rule, and learned pre-images remove more noise than linear PCA."""

import numpy as np
import pytest
from experiments._denoisers import linear_answers, posterior_mean
from experiments._usps import draw, error, gaussian

from experiments import learned_denoising


def test_the_posterior_mean_follows_bayes_rule():
    rng = np.random.default_rng(0)
    train, noisy = rng.uniform(-0.9, 0.9, (5, 3)), rng.uniform(-0.9, 0.9, (2, 3))
    densities = np.exp(-((noisy[:, None] - train) ** 2) / (2 * 0.5**2)).prod(axis=2)
    expected = densities @ train / densities.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior_mean("Gaussian", train, noisy), expected)
    # two of three pixels stay: only one training point agrees with them
    seen = np.array([[train[3, 0], 1.0, train[3, 2]]])
    np.testing.assert_allclose(posterior_mean("speckle", train, seen), train[3:4], atol=1e-6)


@pytest.mark.data
def test_learned_pre_images_remove_more_noise_than_linear_pca(data):
    data("usps")
    train, clean = draw(0)
    train, clean = train[::5], clean[::10]
    noisy = gaussian(clean, np.random.default_rng(0))
    methods = [
        learned_denoising.regression(gaussian, inputs, (4, 3, 600))
        for inputs in ("pixels", "clipped pixels")
    ]
    plain, clipped = (
        error(learned_denoising.learned(each, train, noisy), clean) for each in methods
    )
    linear = linear_answers(train, noisy, learned_denoising.LINEAR)
    assert plain < 0.8 * min(error(X, clean) for X in linear.values())
    assert clipped < plain
