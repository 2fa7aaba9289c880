"""Data of all probes. Values are multiples of 1/256, so that shifts and scales by powers of two are exact."""

from dataclasses import dataclass

import numpy as np

import mercer as mc

RNG = np.random.default_rng(13)
X = RNG.integers(0, 256, (48, 3)) / 256
NEW = RNG.integers(0, 256, (7, 3)) / 256
TARGETS = np.round(64 * (np.sin(4 * X[:, 0]) + X[:, 1])) / 64
TWO = (np.median(TARGETS) < TARGETS).astype(int)
THREE = np.digitize(TARGETS, np.quantile(TARGETS, [0.3, 0.7]))
WEIGHTS = RNG.integers(1, 5, len(X)) / 2
GAMMA = 2.0
KERNEL = mc.Gaussian(GAMMA)


def shifted(X):
    """Return rows with the last column moved: a transformation, and a move, of valid rows."""
    return (
        X + [0.0] * (X.shape[1] - 1) + [1 / 256]
        if isinstance(X, list)
        else X + np.eye(X.shape[1])[-1] / 256
    )


def fewer_rows(X):
    """Return rows that are not aligned."""
    return X[1:]


def fewer_columns(X):
    """Return rows of another space."""
    return X[:, 1:]


def no_numbers(X):
    """Return rows without numbers."""
    return X * np.nan


def moved(X, t):
    """Return rows with the last column moved by t."""
    return X + t * np.eye(X.shape[1])[-1]


# number of kernel values computed by `Counted`
computed = [0]


@dataclass(frozen=True, eq=False)
class Counted(mc.Gaussian):
    """Gaussian kernel that counts its values; a kernel without ``scalar`` is evaluated in Python."""

    scalar = None

    def evaluate(self, tile):
        values = super().evaluate(tile)
        computed[0] += len(tile.X) * len(tile.Z)
        return values


COUNTED = Counted(GAMMA)
