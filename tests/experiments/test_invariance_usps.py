"""The moves of the digits are the eight shifts by one pixel, with the border repeated."""

from types import SimpleNamespace

import numpy as np
import pytest
from experiments.invariance_usps import MOVES, SHAPE, selected, shift, shifted

from experiments import invariance_usps


def test_shifts_move_by_one_pixel_and_repeat_the_border():
    images = np.random.default_rng(0).normal(size=(3, 256))
    before, after = (x.reshape(-1, *SHAPE) for x in (images, shift(images, 1, -1)))
    np.testing.assert_array_equal(after[:, 1:, :-1], before[:, :-1, 1:])
    np.testing.assert_array_equal(after[:, 0, :-1], before[:, 0, 1:])
    np.testing.assert_array_equal(after[:, 1:, -1], before[:, :-1, -1])


def test_there_are_eight_different_shifts_and_none_is_the_image_itself():
    images = np.random.default_rng(0).normal(size=(2, 256))
    assert (
        len(np.unique(np.concatenate([shifted(images[:1]), images[:1]]), axis=0))
        == len(MOVES) + 1
        == 9
    )
    assert shifted(images).shape == (16, 256)


@pytest.mark.parametrize(
    ("wrong", "chosen"), [([1, 1, 1], 3.0), ([2, 1, 1], 10.0), ([2, 1, 0], 30.0), ([2, 1, 2], 10.0)]
)
def test_the_C_with_the_fewest_errors_in_five_folds_is_selected_and_of_equal_ones_the_smallest(
    wrong, chosen, settings
):
    costs, y, kept = [3.0, 10.0, 30.0], np.repeat([0, 1], 10), []

    def machine(_kernel, C, _X, virtual):
        assert not virtual

        def predict(rows):
            kept.append(rows[:, 0])
            truth = y[rows[:, 0].astype(int)]
            # wrong at as many of the four digits of a fold
            return np.where(np.arange(4) < wrong[costs.index(C)], 1 - truth, truth)

        return SimpleNamespace(fit=lambda *_: SimpleNamespace(predict=predict))

    settings(invariance_usps, machine=machine)
    C, errors = selected(invariance_usps.POLYNOMIAL, np.arange(20.0)[:, None], y, costs[::-1])
    assert chosen == C
    assert [errors[cost] for cost in costs] == [25.0 * count for count in wrong]
    np.testing.assert_array_equal(np.sort(np.concatenate(kept)), np.repeat(np.arange(20), 3))
    assert selected(invariance_usps.POLYNOMIAL, None, None, [7.0]) == (7.0, {})
