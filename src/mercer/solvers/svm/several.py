"""Several duals and their solutions, as arrays that lie one after the other: objects are made of those that are used.

Lists of `Dual` and `Solution` serve as well where duals are of different kinds: `joined` reads both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mercer.solvers._certify import Certificate
from mercer.solvers.svm.dual import Dual, Solution

_NUMBERS = "bias", "violation", "n_iter", "gain", "noise", "n_rows", "epsilon"


@dataclass(frozen=True)
class Duals(Sequence[Dual]):
    """Duals between bounds with epsilon 0, neither a ridge nor a prescribed sum of sizes.

    Attributes
    ----------
    target, lower, upper, coef : float64 array (sum of sizes,)
    points : int array (sum of sizes,)
    stops : int array (m + 1,)
        Variables of dual k are ``stops[k]`` to ``stops[k + 1]``.
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    coef: np.ndarray
    points: np.ndarray
    stops: np.ndarray

    def __len__(self) -> int:
        return len(self.stops) - 1

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            first, last, _ = k.indices(len(self))
            stops = self.stops[first : last + 1]
            return Duals(*self._take(slice(stops[0], stops[-1])), stops - stops[0])
        return Dual(*self._take(place_of_item(self, k)))

    def _take(self, part):
        return [each[part] for each in (self.target, self.lower, self.upper, self.coef, self.points)]


@dataclass(frozen=True)
class Solutions(Sequence[Solution]):
    """Solutions of duals: the arrays of `Solution` joined, and its numbers as one array (m,) each.

    Attributes
    ----------
    coef, gradient : float64 array (sum of sizes,)
    bias, violation, primal, value, gain, noise, epsilon : float64 array (m,)
    n_iter, n_rows : int array (m,)
    stops : int array (m + 1,)
        Variables of dual k are ``stops[k]`` to ``stops[k + 1]``.
    """

    coef: np.ndarray
    gradient: np.ndarray
    bias: np.ndarray
    violation: np.ndarray
    n_iter: np.ndarray
    n_rows: np.ndarray
    primal: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    noise: np.ndarray
    epsilon: np.ndarray
    stops: np.ndarray

    @classmethod
    def joined(cls, parts: list[Solutions]) -> Solutions:
        """Return the solutions of several groups of duals as one group."""
        names = [field.name for field in fields(cls)][:-1]
        sizes = np.concatenate([np.diff(part.stops) for part in parts])
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        return cls(*columns, np.concatenate([[0], np.cumsum(sizes)]))

    def __len__(self) -> int:
        return len(self.bias)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(len(self))[k]]
        numbers = {name: getattr(self, name)[k].item() for name in _NUMBERS}
        found = Certificate(self.primal[k].item(), self.value[k].item(), numbers["violation"])
        own = place_of_item(self, k)
        return Solution(self.coef[own], self.gradient[own], certificate=found, **numbers)

    def __setitem__(self, k: int, found: Solution) -> None:
        own = place_of_item(self, k)
        self.coef[own], self.gradient[own] = found.coef, found.gradient
        for name in (*_NUMBERS, "primal", "value"):
            getattr(self, name)[k] = getattr(found, name)


def kinds_of(duals: Sequence[Dual]) -> Sequence[Dual]:
    """Return duals that differ in more than numbers: one of `Duals`, each of a list."""
    return [duals[0]] if isinstance(duals, Duals) else duals


def place_of_item(items: Any, k: int) -> slice:
    """Return the place of the variables of the k-th dual or solution in joined arrays."""
    k = range(len(items))[k]
    return slice(int(items.stops[k]), int(items.stops[k + 1]))
