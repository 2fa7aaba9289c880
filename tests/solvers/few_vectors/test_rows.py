"""Rows: factors and units are 1 by default, and some of the rows keep what belongs to them."""

import numpy as np

from mercer.solvers.few_vectors.objective import Rows


def test_weights_and_units_are_1_by_default():
    rows = Rows(np.zeros((3, 2)), np.zeros((3, 4)))
    np.testing.assert_array_equal(rows.weights, np.ones(3))
    np.testing.assert_array_equal(rows.scale, np.ones(4))


def test_some_rows_keep_their_outputs_signs_and_weights_and_the_units(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, outputs, own = rng.normal(size=(3, 9, 2))
    rows = Rows(X, outputs, own, None, rng.random(9), np.array([2.0, 3.0]))
    for places in (np.array([4, 1]), np.arange(9) % 2 == 0, slice(2, 5)):
        some = rows.take(places)
        for name in ("X", "outputs", "own", "weights"):
            np.testing.assert_array_equal(getattr(some, name), getattr(rows, name)[places])
        assert some.labels is None
        np.testing.assert_array_equal(some.scale, rows.scale)
    assert rows.signs(labelled=True) is None
    assert rows.signs(labelled=False) is own
