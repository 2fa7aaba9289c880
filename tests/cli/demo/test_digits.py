import numpy as np
import pytest
from sklearn.decomposition import PCA

from mercer.cli.demo import denoising


def _contains(rows, row):
    return bool((rows == row).all(axis=1).any())


@pytest.fixture(scope="module")
def setting():
    return denoising.Setting(
        n_train=120,
        n_test=40,
        linear={"n_components": [2, 8]},
        ridge={"n_components": [8], "gamma": [0.02], "alpha": [0.01]},
        kernel={"n_components": [16], "gamma": [0.1, 0.2]},
        learned={"ridge": [0.1]},
    )


@pytest.fixture(scope="module")
def data(setting):
    return denoising.load(setting)


@pytest.fixture(scope="module")
def outcomes(data, setting):
    steps = []
    outcomes = denoising.compare(data, setting, steps.append)
    assert len(steps) == len(outcomes) == 4
    return outcomes


def test_no_test_digit_is_learned_from(data):
    assert (len(data.train), len(data.test), len(data.fit), len(data.held)) == (120, 40, 90, 30)
    assert not any(_contains(data.train, row) for row in data.test)
    assert not any(_contains(data.fit, row) for row in data.held)
    assert all(_contains(data.train, row) for row in data.held)


def test_the_noise_has_the_stated_variance(data, setting):
    assert denoising.error(data.test_noisy, data.test) == pytest.approx(
        64 * setting.noise**2, rel=0.1
    )


def test_the_error_is_that_of_the_images(data, outcomes):
    for outcome in outcomes:
        assert outcome.error == pytest.approx(
            np.linalg.norm(outcome.images - data.test) ** 2 / len(data.test)
        )
        assert outcome.images.min() >= 0
        assert outcome.images.max() <= 1


def test_linear_pca_is_recomputed_from_its_settings(data, outcomes):
    pca = PCA(**outcomes[0].parameters).fit(data.train)
    images = np.clip(pca.inverse_transform(pca.transform(data.test_noisy)), 0, 1)
    assert denoising.error(images, data.test) == pytest.approx(outcomes[0].error)


def test_settings_are_the_best_on_held_out_digits(data, outcomes):
    def held_out(n):
        pca = PCA(n).fit(data.fit)
        return denoising.error(
            np.clip(pca.inverse_transform(pca.transform(data.held_noisy)), 0, 1), data.held
        )

    assert outcomes[0].parameters == {"n_components": min([2, 8], key=held_out)}


def test_every_method_removes_some_noise(data, outcomes):
    assert all(outcome.error < denoising.error(data.test_noisy, data.test) for outcome in outcomes)


def test_the_size_counts_the_numbers_in_the_arrays(data, outcomes):
    n, d = data.train.shape
    linear, ridge, fixed, learned = outcomes
    assert linear.size == d * (linear.parameters["n_components"] + 1)
    assert ridge.size == n * (2 * d + 8)
    assert fixed.size == n * (d + 16 + 1)
    assert learned.size == n * 2 * d
