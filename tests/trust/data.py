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
