"""Several duals and their solutions, as arrays that lie one after the other: objects are made of those that are used.

Lists of `Dual` and `Solution` serve as well where duals are of different kinds: `joined` reads both.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mercer._common import Array
from mercer.solvers._certify import Certificate
from mercer.solvers.svm.bias import slopes
from mercer.solvers.svm.dual import Dual, Solution, at_bounds, gap_between_bounds

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

    def certificate(self, coef: Array, gradient: Array, bias: Array, rounding: float) -> Certificate:
        """Return the sum of the certificates of points of all duals, of finite bounds, as of `dual.certificate`."""
        whole = Dual(*self._take(slice(None)))
        starts = self.stops[:-1]
        coef = at_bounds(np.clip(coef, whole.lower, whole.upper), whole, rounding)
        level = np.repeat(bias, np.diff(self.stops))
        sums, kept = np.add.reduceat(coef, starts), np.add.reduceat(whole.coef, starts)
        value = np.add.reduceat(0.5 * coef * (whole.target + gradient - 2 * level), starts) + bias * kept
        primal = value + np.add.reduceat(gap_between_bounds(whole, coef, gradient - level), starts)
        rising, falling = slopes(gradient, coef, whole)
        violation = np.maximum(0, np.maximum.reduceat(rising, starts) - np.minimum.reduceat(falling, starts))
        sizes = np.maximum(np.add.reduceat(np.abs(coef), starts), np.abs(kept))
        apart = np.abs(sums - kept) / np.where(sizes > 0, sizes, 1.0)
        # coefficients of another sum are not feasible
        other = apart > np.sqrt(rounding)
        value, violation = np.where(other, -np.inf, value), violation + np.where(other, apart, 0)
        return Certificate(float(primal.sum()), float(value.sum()), float(violation.max()))

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

    @classmethod
    def empty(cls, stops: Array) -> Solutions:
        """Return memory for the solutions of duals whose variables begin at ``stops``."""
        n, m = int(stops[-1]), len(stops) - 1
        counts = ("n_iter", "n_rows")
        numbers = [np.empty(m, int if field.name in counts else float) for field in fields(cls)[2:-1]]
        return cls(np.empty(n), np.empty(n), *numbers, stops)

    def __len__(self) -> int:
        return len(self.bias)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            first, last, _ = k.indices(len(self))
            stops = self.stops[first : last + 1]
            own = slice(stops[0], stops[-1])
            numbers = [getattr(self, field.name)[k] for field in fields(self)[2:-1]]
            return Solutions(self.coef[own], self.gradient[own], *numbers, stops - stops[0])
        numbers = {name: getattr(self, name)[k].item() for name in _NUMBERS}
        found = Certificate(self.primal[k].item(), self.value[k].item(), numbers["violation"])
        own = place_of_item(self, k)
        return Solution(self.coef[own], self.gradient[own], certificate=found, **numbers)

    def __setitem__(self, k: int | slice, found: Solution | Solutions) -> None:
        own = slice(self.stops[k.start], self.stops[k.stop]) if isinstance(k, slice) else place_of_item(self, k)
        self.coef[own], self.gradient[own] = found.coef, found.gradient
        for name in (*_NUMBERS, "primal", "value"):
            getattr(self, name)[k] = getattr(found, name)


def kinds_of(duals: Sequence[Dual]) -> Sequence[Dual]:
    """Return duals that differ in more than numbers: one of `Duals`, each of a list."""
    return [duals[0]] if isinstance(duals, Duals) else duals


def groups(stops: Array, most: int) -> list[slice]:
    """Return the duals in groups of at most so many variables, or of one dual, from where their variables begin."""
    found = [0]
    while found[-1] < len(stops) - 1:
        last = int(np.searchsorted(stops, stops[found[-1]] + most, side="right")) - 1
        found.append(max(last, found[-1] + 1))
    return [slice(*pair) for pair in itertools.pairwise(found)]


def place_of_item(items: Any, k: int) -> slice:
    """Return the place of the variables of the k-th dual or solution in joined arrays."""
    k = range(len(items))[k]
    return slice(int(items.stops[k]), int(items.stops[k + 1]))
