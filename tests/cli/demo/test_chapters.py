import numpy as np
import pytest

from mercer import mean, sqdist
from mercer.cli.demo import denoising
from mercer.expansion import features


@pytest.fixture(scope="module")
def data(tiny):
    return denoising.load(tiny)


@pytest.fixture(scope="module")
def outcomes(data, tiny):
    return denoising.compare(data, tiny, str)


def test_the_picture_shows_the_first_digits_of_every_method(data, outcomes):
    display = denoising.denoising_display(data, outcomes, n_images=3)
    assert display.images.shape == (6, 3, 8, 8)
    assert np.array_equal(display.images[0].reshape(3, 64), data.test[:3])
    assert np.array_equal(display.images[-1].reshape(3, 64), outcomes[-1].images[:3])
    for title, outcome in zip(display.titles[2:], outcomes, strict=True):
        assert title == f"{outcome.name}: {outcome.error:.2f}"


def test_the_best_method_is_marked(data, tiny, outcomes):
    _, text = denoising.chapter(data, tiny, outcomes)
    best = min(outcomes, key=lambda outcome: outcome.error)
    assert f'<tr class="best"><td>{best.name}</td>' in text
    assert text.count('class="best"') == 1


def test_the_certificate_is_recomputed_in_feature_space(data, outcomes):
    _, text = denoising.cost(data, outcomes)
    pca = outcomes[2].model
    # mu + sum_k <phi(x) - mu, u_k> u_k, without the estimator
    phi, u = features(pca.kernel_, data.test_noisy), pca.expansion_
    scores = u(data.test_noisy) - mean(features(pca.kernel_, data.train)).inner(u)
    before = sqdist(u @ scores.T + pca.mean_, phi, paired=True).mean()
    assert f"fell from {before:.4f} at the noisy digit to" in text
