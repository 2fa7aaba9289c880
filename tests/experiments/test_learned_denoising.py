"""Posterior means follow Bayes' rule, and learned pre-images remove more noise than linear PCA."""

import numpy as np
import pytest
from experiments._denoisers import linear_answers, posterior_mean
from experiments._usps import draw, error, gaussian, moved

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


def test_moved_images_keep_their_ink():
    image = np.zeros((1, 16, 16))
    image[0, 5:11, 6:10] = 1
    found = moved(np.repeat(image, 200, axis=0).reshape(200, -1), (16, 16), np.random.default_rng(0))
    # scaling by a per cent changes the ink by two; shifts and turns keep it
    np.testing.assert_allclose(found.sum(axis=1).mean(), image.sum(), rtol=0.02)
    rows, columns = np.indices((16, 16)).reshape(2, -1)
    centres = found @ np.column_stack([rows, columns]) / found.sum(axis=1, keepdims=True)
    assert np.abs(centres.mean(axis=0) - 7.5).max() < 0.1
    assert 0.3 < centres.std(axis=0).mean() < 0.5


@pytest.mark.data
def test_learned_pre_images_remove_more_noise_than_linear_pca(data):
    data("usps")
    train, clean = draw(0)
    train, clean = train[::5], clean[::10]
    noisy = gaussian(clean, np.random.default_rng(0))
    setting = 4, 0, 3, 600, 0.1
    plain, clipped = (
        error(learned_denoising.learned(gaussian, inputs, setting, train, noisy), clean)
        for inputs in ("pixels", "clipped pixels")
    )
    linear = linear_answers(train, noisy, learned_denoising.LINEAR)
    assert plain < 0.8 * min(error(X, clean) for X in linear.values())
    assert clipped < plain
