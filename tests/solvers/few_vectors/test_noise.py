"""Noise: copies of rows have the deviations asked for, and are as many as the free numbers need."""

import numpy as np
import pytest

from mercer.solvers.few_vectors.trials import noise, recombined, spread, wanted_copies


def test_copies_of_rows_have_the_deviations_asked_for(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(4, 5)).astype(np.float32)
    deviations = np.array([[0.0], [0.1], [1.0], [4.0]])
    found = noise(X, deviations, 4000, global_random_seed)
    assert found.dtype == X.dtype
    moves = found.reshape(4000, 4, 5) - X
    np.testing.assert_allclose(moves.std(axis=(0, 2)), deviations[:, 0], rtol=0.03)
    assert np.abs(moves.mean(axis=(0, 2))[1:] / deviations[1:, 0]).max() < 0.05
    assert len(noise(X, 0 * deviations, 3, 0)) == 0


def test_the_spread_is_the_mean_distance_to_the_five_nearest_rows(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(50, 3))
    distances = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)
    np.testing.assert_allclose(spread(X, 0)[:, 0], distances[:, 1:6].mean(axis=1) / np.sqrt(3))
    assert spread(X[:2], 0)[:, 0] == pytest.approx(2 * [np.linalg.norm(X[0] - X[1]) / np.sqrt(3)])
    assert spread(np.vstack([X] * 100), 0).max() == 0


@pytest.mark.parametrize("rows", [50, 400, 3000, 10**6])
def test_copies_give_ten_equations_for_each_free_number_unless_they_are_five(rows):
    vectors, features, columns = 10, 21, 2
    copies = wanted_copies(rows, vectors, features, columns)
    numbers = vectors * (features + columns)
    assert copies == 5 or (copies + 1) * rows * columns >= 10 * numbers
    assert copies == 0 or copies * rows * columns < 10 * numbers
    # a pass over many vectors has no room for copies
    assert wanted_copies(rows, 10**5, features, columns) == (3 if rows == 50 else 0)


def test_recombined_rows_take_about_half_of_their_numbers_from_one_other_row(global_random_seed):
    # places in units of 1000 tell rows apart
    X = (np.arange(50.0)[:, None] * 1000 + np.arange(400)).astype(np.float32)
    found = recombined(X, 3, global_random_seed)
    assert found.dtype == X.dtype
    assert found.shape == (150, 400)
    np.testing.assert_array_equal(found % 1000, np.tile(np.arange(400), (150, 1)))
    own, places = np.tile(np.arange(50), 3), found // 1000
    others = [np.unique(row[row != i]) for row, i in zip(places, own, strict=True)]
    assert max(map(len, others)) == 1
    shares = (places == own[:, None]).mean(axis=1)[[len(each) == 1 for each in others]]
    assert abs(shares - 0.5).max() < 0.15
    assert len(recombined(X, 0, 0)) == 0
