"""Iterated predictions read earlier predictions, in the order of the delay coordinates."""

import numpy as np
import pytest

import mercer as mc
from experiments import time_series


class Sum:
    """A model that adds the two latest values."""

    def predict(self, X):
        return X[:, 0] + X[:, 1]


def test_iterated_sums_are_fibonacci_numbers():
    found = time_series.iterated(Sum(), np.array([[1.0, 1.0], [2.0, 1.0]]), 5)
    np.testing.assert_array_equal(found, [[2, 3, 5, 8, 13], [3, 5, 8, 13, 21]])


def test_rows_of_the_embedding_have_the_latest_value_first():
    x = np.arange(50.0)
    X = mc.sequences.Embedding(time_series.LAGS).transform(x)
    # the window after the end of the series has the same order
    last = x[: -time_series.LAGS - 1 : -1]
    np.testing.assert_array_equal(last - X[-1], 1.0)


@pytest.mark.parametrize("noise", list(time_series.NOISES))
def test_noise_has_the_wanted_standard_deviation(noise):
    found = time_series.NOISES[noise](np.random.default_rng(0), 20_000, 0.22)
    assert found.std() == pytest.approx(0.22, rel=0.02)
