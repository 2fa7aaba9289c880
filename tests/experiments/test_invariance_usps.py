"""The moves of the digits are the eight shifts by one pixel, with the border repeated."""

import numpy as np
from experiments.invariance_usps import MOVES, SHAPE, shift, shifted


def test_shifts_move_by_one_pixel_and_repeat_the_border():
    images = np.random.default_rng(0).normal(size=(3, 256))
    before, after = (x.reshape(-1, *SHAPE) for x in (images, shift(images, 1, -1)))
    np.testing.assert_array_equal(after[:, 1:, :-1], before[:, :-1, 1:])
    np.testing.assert_array_equal(after[:, 0, :-1], before[:, 0, 1:])
    np.testing.assert_array_equal(after[:, 1:, -1], before[:, :-1, -1])


def test_there_are_eight_different_shifts_and_none_is_the_image_itself():
    images = np.random.default_rng(0).normal(size=(2, 256))
    assert len(np.unique(np.concatenate([shifted(images[:1]), images[:1]]), axis=0)) == len(MOVES) + 1 == 9
    assert shifted(images).shape == (16, 256)
