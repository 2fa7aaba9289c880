"""Rows that few vectors are fitted to, and the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer._common import Array

# Rows that are many: among them all have near ones, and of more the products of all columns take longer than descents.
MANY = 4096


class Fit(NamedTuple):
    """Points (p, d), coefficients (p, m) and intercepts (m,) of ``kernel(X, points) @ coef + intercept``."""

    points: Array
    coef: Array
    intercept: Array


@dataclass(frozen=True)
class Rows:
    """Rows X (n, d) with the outputs F (n, m) of a model, and the signs of binary classifiers there: 1, -1 or 0.

    ``own`` (n, m) are the signs of the classes that the model predicts, ``labels`` (n, m) those of the true ones; None
    without them. Rows have ``weights`` (n,), outputs the units ``scale`` (m,), 1 for None. They are ``copies`` stacked
    copies of the same rows.
    """

    X: Any
    outputs: Array
    own: Array | None = None
    labels: Array | None = None
    weights: Any = None
    scale: Any = None
    copies: int = 1

    def __post_init__(self) -> None:
        n, m = self.outputs.shape
        for name, size in (("weights", n), ("scale", m)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.ones(size))

    def signs(self, labelled: bool) -> Array | None:
        """Return the signs of the labels, or those of the model."""
        return self.labels if labelled else self.own

    def take(self, places: Any) -> Rows:
        """Return some of the rows."""
        arrays = {
            name: getattr(self, name) for name in ("X", "outputs", "own", "labels", "weights")
        }
        return replace(
            self, **{name: array[places] for name, array in arrays.items() if array is not None}
        )
