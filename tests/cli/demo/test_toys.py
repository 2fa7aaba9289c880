import numpy as np
import pytest

from mercer.cli.demo import toys


@pytest.fixture(scope="module")
def X():
    return toys.three_clusters(np.random.default_rng(0))


def test_clusters_lie_around_their_centres(X):
    assert X.shape == (90, 2)
    assert np.abs(X.reshape(3, 30, 2).mean(axis=1) - toys.CENTRES).max() < 0.1


def test_the_first_two_components_separate_the_clusters(X):
    scores = toys.gaussian_components(X).transform(X)[:, :2].reshape(3, 30, 2)
    centres = scores.mean(axis=1)
    nearest = np.linalg.norm(scores[:, :, None] - centres, axis=-1).argmin(axis=-1)
    assert (nearest == np.arange(3)[:, None]).all()


def test_tanh_is_indefinite_and_every_fit_warns_by_how_much(X):
    results = toys.tanh_components(X)
    assert [result.gain for result in results] == [0.1, 1.0, 5.0, 10.0]
    for result in results:
        assert result.smallest < 0 < result.largest
        assert f"{result.smallest / result.largest:.3g}" in result.warning
        assert result.pca.eigenvalues_[0] == pytest.approx(result.largest)


def test_the_first_two_components_of_tanh_separate_the_clusters_at_every_gain(X):
    for result in toys.tanh_components(X):
        scores = result.pca.transform(X).reshape(3, 30, 2)
        nearest = np.linalg.norm(scores[:, :, None] - scores.mean(axis=1), axis=-1).argmin(axis=-1)
        assert np.mean(nearest == np.arange(3)[:, None]) > 0.95


def test_tanh_spectra_are_the_known_ones(X):
    ratios = [result.smallest / result.largest for result in toys.tanh_components(X)]
    assert ratios == pytest.approx([-0.0025 / 0.72, -0.26 / 7.2, -4.3 / 39, -8.3 / 60], rel=0.3)
