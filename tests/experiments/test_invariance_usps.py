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
    assert len(np.unique(np.concatenate([shifted(images[:1]), images[:1]]), axis=0)) == len(MOVES) + 1 == 9
    assert shifted(images).shape == (16, 256)


@pytest.mark.parametrize(
    ("scores", "chosen"), [([0.9, 0.9, 0.9], 10.0), ([0.9, 0.8, 0.9], 30.0), ([0.8, 0.9, 0.7], 10.0)]
)
def test_of_equal_held_out_errors_the_C_in_the_middle_is_selected(scores, chosen, monkeypatch):
    costs = [3.0, 10.0, 30.0]

    def machine(_kernel, C, *_):
        model = SimpleNamespace(score=lambda *_: scores[costs.index(C)])
        return SimpleNamespace(fit=lambda *_: model)

    monkeypatch.setattr(invariance_usps, "machine", machine)
    C, errors = selected("local", np.zeros((10, 256)), np.zeros(10), costs, held_out=4)
    assert chosen == C
    assert list(errors.values()) == pytest.approx([100 * (1 - score) for score in scores])
