"""Digits of USPS, whole or drawn in equal numbers from each class, and noise."""

import numpy as np

from mercer import datasets

# Of the kernel exp(-|x - z|^2 / WIDTH) for pixels in [-1, 1].
WIDTH = 128
# Digits of a draw for each class.
TRAIN, TEST = 300, 50


def digits(smoothed):
    """Return training digits, their labels, test digits and their labels."""
    usps = datasets.load("usps")
    images = [X.astype(float) for X in (usps.X_train, usps.X_test)]
    train, test = [datasets.smooth(X) for X in images] if smoothed else images
    return train, usps.y_train, test, usps.y_test


def gaussian(X, rng, deviation=0.5):
    return X + deviation * rng.standard_normal(X.shape)


def speckle(X, rng, p=0.4):
    u = rng.random(X.shape)
    return np.where(u < p / 2, -1.0, np.where(u < p, 1.0, X))


def draw(seed):
    """Return training and test digits, class after class."""
    digits, rng = datasets.load("usps"), np.random.default_rng(seed)

    def some(X, y, count):
        rows = [rng.choice(np.flatnonzero(y == c), count, replace=False) for c in range(10)]
        return X[np.concatenate(rows)].astype(float)

    return some(digits.X_train, digits.y_train, TRAIN), some(digits.X_test, digits.y_test, TEST)


def error(points, clean):
    return np.mean(np.sum((points - clean) ** 2, axis=1))
