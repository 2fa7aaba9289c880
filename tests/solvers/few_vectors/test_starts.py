"""Starting points: the requested number, of every class, near its rows."""

import numpy as np
import pytest

from mercer.solvers.few_vectors.trials import starts


def _problem(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [90, 10])
    X = rng.normal(size=(100, 2)) + 20.0 * y[:, None]
    signs = np.where(y[:, None] == 1, 1.0, -1.0)
    return X, signs


@pytest.mark.parametrize("size", [1, 2, 7, 60])
@pytest.mark.parametrize("labelled", [False, True])
def test_there_are_as_many_as_requested_and_some_of_every_class(size, labelled, global_random_seed):
    X, signs = _problem(global_random_seed)
    found = starts(X, 2 * signs, signs if labelled else None, size, X, 0)
    assert found.shape == (size, 2)
    if size > 1:
        assert (found.sum(axis=1) > 20).any()
        assert (found.sum(axis=1) < 20).any()


def test_classes_with_rows_near_the_margin_get_more(global_random_seed):
    X, signs = _problem(global_random_seed)
    outputs = np.where(signs > 0, 0.5, -2.0)
    found = starts(X, outputs, signs, 8, X, 0)
    assert np.sum(found.sum(axis=1) > 20) >= 6


def test_repeated_rows_are_supplemented_by_given_points():
    X = np.zeros((30, 2))
    points = np.arange(20.0).reshape(10, 2)
    found = starts(X, np.zeros((30, 1)), None, 5, points, 0)
    assert found.shape == (5, 2)
    assert len(np.unique(found, axis=0)) == 5
