"""Dual problems of support vector machines and their solutions, one at a time or many in joined arrays."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._common import Array
from mercer.solvers._certify import Certificate

# Numbers of a solution, of which many solutions have an array each.
_NUMBERS = "bias", "violation", "n_iter", "gain", "noise", "epsilon"


@dataclass(frozen=True)
class Dual:
    r"""A dual problem in signed coefficients b_i, which are y_i alpha_i for a classifier.

    .. math:: \min_b \tfrac12 b'Kb + \tfrac12 \sum_i \rho_i b_i^2 - t'b + \epsilon \sum_i |b_i|
        \quad\text{s.t.}\quad l_i \le b_i \le u_i,\ \sum_i b_i = \text{const}

    A classifier has t = y and the bounds 0 and C y_i; a one-class model t = 0 and sum 1; regression t = y, the bounds
    -C and C and an epsilon; the smallest ball t_i = k(x_i, x_i) / 2. ``total`` prescribes sum |b_i|, as nu does.

    Parameters
    ----------
    target, lower, upper : float64 array (n,)
        0 lies between the bounds. Infinite bounds allow no error: the hard margin, the hard epsilon-tube.
    coef : float64 array (n,)
        The start: within the bounds, with the sum that is kept.
    points : int array (n,)
        Index of the point of each variable.
    epsilon : float
        At least 0.
    ridge : float64 array (n,), optional
        rho_i, above 0, which the kernel rows contain (see `rows_of`): the dual of a quadratic loss.
    total : float, optional
        sum |b_i|. For a classifier bounds are then in units of a C that the solution shows; for regression epsilon
        follows from it.
    factors : (float, float)
        Mean factors of C of the positive and the negative class: they place a boundary that ``total`` leaves open.
    split : int, optional
        The variables before it and those from it on keep a sum each.
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    coef: np.ndarray
    points: np.ndarray
    epsilon: float = 0.0
    ridge: np.ndarray | None = None
    total: float | None = None
    factors: tuple[float, float] = (1.0, 1.0)
    split: int | None = None

    @cached_property
    def one_sided(self) -> bool:
        """Whether every variable has 0 as a bound: a classifier."""
        return bool(((self.lower == 0) | (self.upper == 0)).all())

    @cached_property
    def unbounded(self) -> bool:
        """Whether a bound is infinite."""
        return bool(np.isinf(self.lower).any() or np.isinf(self.upper).any())

    @property
    def groups(self) -> Array:
        """Where each group of variables that keeps its sum begins, and where the last ends (int array)."""
        n = len(self.coef)
        return np.array([0, n] if self.split is None else [0, self.split, n])

    def in_units(self, centre: float, scale: float) -> Dual:
        """Return the dual of a regression for targets less ``centre``, divided by ``scale``; see `Solution`."""
        total = None if self.total is None else self.total / scale
        bounds = {name: getattr(self, name) / scale for name in ("lower", "upper", "epsilon")}
        return replace(self, target=(self.target - centre) / scale, total=total, **bounds)

    def take(self, places: Array, **changes: Any) -> Dual:
        """Return the dual restricted to some variables (int array, ascending), with other fields changed."""
        names = (
            "target",
            "lower",
            "upper",
            "coef",
            "points",
            *(() if self.ridge is None else ("ridge",)),
        )
        if self.split is not None:
            changes["split"] = int(np.searchsorted(places, self.split))
        return replace(self, **{name: getattr(self, name)[places] for name in names} | changes)


@dataclass(frozen=True)
class Solution:
    """A solved dual, or the point where the solver stopped.

    Attributes
    ----------
    coef : float64 array (n,)
    gradient : float64 array (n,)
        t - K b.
    bias : float
        b_0: the gradient minus epsilon sign(b_i) of free variables.
    violation : float
        Violation of the optimality conditions, see `violation_of`.
    n_iter : int
        Number of pairs optimised.
    gain : float
        Relative gain of the objective in the last round, if the solver stopped because it was too small, otherwise inf.
    epsilon : float
    margin : float
        The solution of a dual with ``total`` was divided by it.
    noise : float
        Bound of the rounding of the gradients that decide the violation, 0 if they are exact.
    certificate : Certificate or None
    """

    coef: np.ndarray
    gradient: np.ndarray
    bias: float
    violation: float
    n_iter: int
    gain: float = np.inf
    epsilon: float = 0.0
    margin: float = 1.0
    noise: float = 0.0
    certificate: Certificate | None = None

    @property
    def primal(self) -> float:
        """The primal objective of the certificate."""
        return self.certificate.primal

    @property
    def value(self) -> float:
        """The dual objective of the certificate."""
        return self.certificate.dual

    def in_units(self, centre: float, scale: float) -> Solution:
        """Return the solution for targets times ``scale`` plus ``centre``, by the same bounds and epsilon times it."""
        names = "coef", "violation", "epsilon", "noise"
        found = self.certificate
        return replace(
            self,
            **{name: getattr(self, name) * scale for name in names},
            gradient=self.gradient * scale + centre,
            bias=self.bias * scale + centre,
            certificate=Certificate(
                found.primal * scale**2, found.dual * scale**2, found.kkt * scale
            ),
        )


class Infeasible(Exception):
    """No function satisfies the constraints without error; two weighted means of points are the evidence.

    Parameters
    ----------
    dual : Dual
    coef : float64 array (n,)
        Positive and negative entries are the weights of the two means.
    numbers : dict
        Figures for the message.
    """

    dual: Any
    coef: Array
    numbers: dict[str, float]

    def __init__(self, dual: Any, coef: Array, **numbers: float) -> None:
        super().__init__("the constraints contradict each other")
        self.dual = dual
        self.coef = coef
        self.numbers = numbers

    def in_units(self, scale: float) -> Infeasible:
        """Return the evidence for targets times ``scale``: all figures but the distance of the means follow."""
        numbers = {
            name: value if name == "distance" else value * scale
            for name, value in self.numbers.items()
        }
        return Infeasible(self.dual, self.coef, **numbers)


# --- feasible starts -------------------------------------------------------------------------------------------------


def feasible_start(upper: Array, total: float) -> Array:
    """Return coefficients between 0 and ``upper`` (n,) of sum ``total``: the first ones at their bounds."""
    return np.clip(total - (np.cumsum(upper) - upper), 0, upper)


def smallest_ball_dual(diagonal: Array, upper: Array | float) -> Dual:
    """Return the dual of the smallest ball around points with so large k(x, x) (n,): coefficients of sum 1."""
    n = len(diagonal)
    # coefficients of sum 1 do not meet a bound of 2
    upper = np.minimum(upper, np.full(n, 2.0))
    return Dual(diagonal / 2, np.zeros(n), upper, feasible_start(upper, 1.0), np.arange(n))


# --- many at a time --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Duals(Sequence[Dual]):
    """Duals between bounds, without a ridge or a prescribed sum of sizes, in joined arrays.

    Attributes
    ----------
    target, lower, upper, coef : float64 array (sum of sizes,)
    points : int array (sum of sizes,)
    stops : int array (m + 1,)
        Variables of dual k are ``stops[k]`` to ``stops[k + 1]``.
    epsilon : float
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    coef: np.ndarray
    points: np.ndarray
    stops: np.ndarray
    epsilon: float = 0.0

    def __len__(self) -> int:
        return len(self.stops) - 1

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            first, last, _ = k.indices(len(self))
            stops = self.stops[first : last + 1]
            return Duals(*self._take(slice(stops[0], stops[-1])), stops - stops[0], self.epsilon)
        return Dual(*self._take(place_of_item(self, k)), self.epsilon)

    def _take(self, part):
        return [
            each[part] for each in (self.target, self.lower, self.upper, self.coef, self.points)
        ]


@dataclass(frozen=True)
class Solutions(Sequence[Solution]):
    """Solutions of duals: the arrays of `Solution` joined, and its numbers as one array (m,) each.

    Attributes
    ----------
    coef, gradient : float64 array (sum of sizes,)
    bias, violation, primal, value, gain, noise, epsilon : float64 array (m,)
    n_iter, n_rows : int array (m,)
        ``n_rows`` are the kernel rows that each needed.
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
    def empty(cls, stops: Array) -> Solutions:
        """Return memory for the solutions of duals whose variables begin at ``stops``."""
        n = int(stops[-1])
        m = len(stops) - 1
        counts = ("n_iter", "n_rows")
        numbers = [
            np.empty(m, int if field.name in counts else float) for field in fields(cls)[2:-1]
        ]
        return cls(np.empty(n), np.empty(n), *numbers, stops)

    @classmethod
    def joined(cls, parts: Sequence[Solutions]) -> Solutions:
        """Return the solutions of several groups of duals as one group."""
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in fields(cls)][:-1]
        sizes = np.concatenate([np.diff(part.stops) for part in parts])
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        return cls(*columns, np.concatenate([[0], np.cumsum(sizes)]))

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
        own = (
            slice(self.stops[k.start], self.stops[k.stop])
            if isinstance(k, slice)
            else place_of_item(self, k)
        )
        self.coef[own] = found.coef
        self.gradient[own] = found.gradient
        for name in (*_NUMBERS, "primal", "value"):
            getattr(self, name)[k] = getattr(found, name)
        if isinstance(found, Solutions):
            self.n_rows[k] = found.n_rows


def place_of_item(items: Any, k: int) -> slice:
    """Return the place of the variables of the k-th dual or solution in joined arrays."""
    k = range(len(items))[k]
    return slice(int(items.stops[k]), int(items.stops[k + 1]))


def joined(items: Sequence[Any], name: str) -> Array:
    """Return the arrays, or numbers, of a name of several duals or solutions, one after the other."""
    if isinstance(items, (Duals, Solutions)):
        return getattr(items, name)
    return (
        np.atleast_1d(getattr(items[0], name))
        if len(items) == 1
        else np.hstack([getattr(i, name) for i in items])
    )


def stops_of(items: Sequence[Any]) -> Array:
    """Return where the variables of each of several duals or solutions begin in joined arrays, and where all end."""
    if isinstance(items, (Duals, Solutions)):
        return items.stops
    return np.cumsum([0] + [len(each.coef) for each in items])


def largest(items: Sequence[Any]) -> int:
    """Return the number of variables of the largest of several duals or solutions."""
    if isinstance(items, (Duals, Solutions)):
        return int(np.diff(items.stops).max())
    return max(len(each.coef) for each in items)


def groups(stops: Array, most: int) -> list[slice]:
    """Return the duals in groups of at most so many variables, or of one dual, from where their variables begin."""
    found = [0]
    while found[-1] < len(stops) - 1:
        last = int(np.searchsorted(stops, stops[found[-1]] + most, side="right")) - 1
        found.append(max(last, found[-1] + 1))
    return [slice(*pair) for pair in itertools.pairwise(found)]
