"""Digits are cut to 20 x 20 pixels, by their centre of mass or by the box around them; C is that of held-out digits."""

import numpy as np
from experiments.invariance_mnist import boxed, central, errors

import mercer as mc


def test_boxed_digits_have_their_box_in_the_middle():
    image = np.zeros((28, 28))
    image[3:9, 15:26] = np.arange(1, 67).reshape(6, 11)
    found = boxed(image[None])[0]
    np.testing.assert_array_equal(found[7:13, 4:15], image[3:9, 15:26])
    assert np.count_nonzero(found) == 66
    np.testing.assert_array_equal(central(image[None])[0], image[4:24, 4:24])


def test_the_test_error_is_that_of_the_C_with_the_smallest_held_out_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0, 1, -1)
    data = [(X[:40], y[:40]), (X[40:80], y[40:80]), (X[80:], y[80:])]
    found = [errors(mc.Gaussian(1.0), data, [C]) for C in (1e-3, 1.0, 1e3)]
    assert len({held_out for _, held_out, _ in found}) > 1
    assert errors(mc.Gaussian(1.0), data, [1e-3, 1.0, 1e3]) == min(found, key=lambda each: each[1])
