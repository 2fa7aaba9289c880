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

# Arrays of a dual with a number for each variable; a ridge is another one.
_ARRAYS = "target", "lower", "upper", "coef", "points"
# Numbers of a solution, of which many solutions have an array each.
_NUMBERS = "bias", "violation", "n_iter", "gain", "noise", "epsilon", "margin", "unit"


class Bounded:
    """Mixin of one dual and of many: what the bounds of their variables say."""

    lower: np.ndarray
    upper: np.ndarray

    @cached_property
    def one_sided(self) -> bool:
        """Whether every variable has 0 as a bound: a classifier."""
        return bool(((self.lower == 0) | (self.upper == 0)).all())

    @cached_property
    def unbounded(self) -> bool:
        """Whether a bound is infinite."""
        return bool(np.isinf(self.upper - self.lower).any())


@dataclass(frozen=True)
class Dual(Bounded):
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
    sums_only : bool
        ``coef`` only gives the sums: the solver begins at bounds that a mean of the variables suggests.
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
    sums_only: bool = False

    @property
    def groups(self) -> Array:
        """Where each group of variables that keeps its sum begins, and where the last ends (int array)."""
        n = len(self.coef)
        return np.array([0, n] if self.split is None else [0, self.split, n])

    def take(self, places: Array, **changes: Any) -> Dual:
        """Return the dual restricted to some variables (int array, ascending), with other fields changed."""
        names = _ARRAYS if self.ridge is None else (*_ARRAYS, "ridge")
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
        b_0: the gradient minus epsilon sign(b_i) of free variables; the mean of those of two groups.
    violation : float
        Violation of the optimality conditions, see `measured`.
    n_iter : int
        Number of pairs optimised.
    gain : float
        Relative gain of the objective in the last round, if the solver stopped because it was too small, otherwise inf.
    epsilon : float
    margin : float
        Half the difference of the biases of two groups. The solution of a dual with ``total`` was divided by it.
    unit : float
        Twice the margin of the means of two groups, otherwise 1.
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
    unit: float = 1.0
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
    start = feasible_start(upper, 1.0)
    return Dual(diagonal / 2, np.zeros(n), upper, start, np.arange(n), sums_only=True)


# --- many at a time --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Duals(Bounded, Sequence[Dual]):
    """Duals of one epsilon in joined arrays.

    Attributes
    ----------
    target, lower, upper, coef : float64 array (sum of sizes,)
    points : int array (sum of sizes,)
    stops : int array (m + 1,)
        Variables of dual k are ``stops[k]`` to ``stops[k + 1]``.
    epsilon : float
    ridge : float64 array (sum of sizes,), optional
    total : float64 array (m,), optional
    factors : float64 array (m, 2), optional
    split : int array (m,), optional
    sums_only : bool
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    coef: np.ndarray
    points: np.ndarray
    stops: np.ndarray
    epsilon: float = 0.0
    ridge: np.ndarray | None = None
    total: np.ndarray | None = None
    factors: np.ndarray | None = None
    split: np.ndarray | None = None
    sums_only: bool = False

    @classmethod
    def of(cls, duals: Sequence[Dual]) -> Duals:
        """Return several duals of one kind and epsilon in joined arrays."""
        if isinstance(duals, Duals):
            return duals
        first = duals[0]
        given = {
            name: _end_to_end(duals, name)
            for name in ("ridge", "total", "split")
            if getattr(first, name) is not None
        }
        return cls(
            *[_end_to_end(duals, name) for name in _ARRAYS],
            _stops(duals),
            first.epsilon,
            factors=None if first.total is None else np.array([dual.factors for dual in duals]),
            sums_only=first.sums_only,
            **given,
        )

    @cached_property
    def first(self) -> Dual:
        """The first dual."""
        return self[0]

    @cached_property
    def sizes(self) -> Array:
        """Numbers of variables (m,)."""
        return np.diff(self.stops)

    @cached_property
    def largest(self) -> int:
        """Number of variables of the largest dual."""
        return int(self.sizes.max())

    def in_units(self, centre: float, scale: float) -> Duals:
        """Return the duals of a regression for targets less ``centre``, divided by ``scale``; see `Solutions`."""
        names = ("lower", "upper", "epsilon") + (() if self.total is None else ("total",))
        divided = {name: getattr(self, name) / scale for name in names}
        return replace(self, target=(self.target - centre) / scale, **divided)

    def __len__(self) -> int:
        return len(self.stops) - 1

    def __getitem__(self, k: Any) -> Any:
        own = places_of_items(self, k)
        arrays = [getattr(self, name)[own] for name in _ARRAYS]
        given = {
            "ridge": None if self.ridge is None else self.ridge[own],
            "sums_only": self.sums_only,
        }
        for name in ("total", "factors", "split"):
            values = getattr(self, name)
            if values is not None:
                given[name] = values[k]
        if isinstance(k, slice):
            return Duals(*arrays, stops_of_items(self, k), self.epsilon, **given)
        return Dual(*arrays, self.epsilon, **given)

    @property
    def groups(self) -> Array:
        """Where the groups of variables of each dual begin, and where the last ends (m, groups + 1)."""
        starts = self.stops[:-1]
        between = () if self.split is None else (starts + self.split,)
        return np.ascontiguousarray(np.array((starts, *between, self.stops[1:])).T)

    @property
    def number(self) -> Array:
        """The number of the dual that each variable belongs to (int array)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def sums(self, values: Array) -> Array:
        """Return the sums of numbers of the variables (sum of sizes,) of each dual (m,)."""
        return np.add.reduceat(values, self.stops[:-1])


@dataclass(frozen=True)
class Solutions(Sequence[Solution]):
    """Solutions of duals: the arrays of `Solution` joined, and its numbers as one array (m,) each.

    Attributes
    ----------
    coef, gradient : float64 array (sum of sizes,)
    bias, violation, primal, value, gain, noise, epsilon, margin, unit : float64 array (m,)
        ``unit`` is twice the margin of the means of two groups, otherwise 1.
    n_iter : int array (m,)
    stops : int array (m + 1,)
        Variables of dual k are ``stops[k]`` to ``stops[k + 1]``.
    """

    coef: np.ndarray
    gradient: np.ndarray
    bias: np.ndarray
    violation: np.ndarray
    n_iter: np.ndarray
    primal: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    noise: np.ndarray
    epsilon: np.ndarray
    margin: np.ndarray
    unit: np.ndarray
    stops: np.ndarray

    @classmethod
    def empty(cls, stops: Array) -> Solutions:
        """Return memory for the solutions of duals whose variables begin at ``stops``."""
        n = int(stops[-1])
        m = len(stops) - 1
        numbers = [
            np.empty(m, int if field.name == "n_iter" else float) for field in fields(cls)[2:-1]
        ]
        return cls(np.empty(n), np.empty(n), *numbers, stops)

    @classmethod
    def of(cls, solutions: Sequence[Solution]) -> Solutions:
        """Return several solutions in joined arrays."""
        found = cls.empty(_stops(solutions))
        for k, each in enumerate(solutions):
            found[k] = each
        return found

    def in_units(self, scale: float) -> Solutions:
        """Return the solutions for targets, bounds and epsilon times ``scale``."""
        linear = {
            name: getattr(self, name) * scale
            for name in ("coef", "gradient", "bias", "violation", "epsilon", "noise")
        }
        return replace(self, primal=self.primal * scale**2, value=self.value * scale**2, **linear)

    def __len__(self) -> int:
        return len(self.bias)

    def __getitem__(self, k: Any) -> Any:
        own = places_of_items(self, k)
        if isinstance(k, slice):
            numbers = [getattr(self, field.name)[k] for field in fields(self)[2:-1]]
            stops = stops_of_items(self, k)
            return Solutions(self.coef[own], self.gradient[own], *numbers, stops)
        numbers = {name: getattr(self, name)[k].item() for name in _NUMBERS}
        found = Certificate(self.primal[k].item(), self.value[k].item(), numbers["violation"])
        return Solution(self.coef[own], self.gradient[own], certificate=found, **numbers)

    def __setitem__(self, k: int | slice, found: Solution | Solutions) -> None:
        own = places_of_items(self, k)
        self.coef[own] = found.coef
        self.gradient[own] = found.gradient
        for name in (*_NUMBERS, "primal", "value"):
            getattr(self, name)[k] = getattr(found, name)


def places_of_items(items: Any, k: int | slice) -> slice:
    """Return the place of the variables of the k-th dual or solution, or of a slice of them, in joined arrays."""
    some = range(len(items))[k]
    first, last = (some.start, some.stop) if isinstance(k, slice) else (some, some + 1)
    return slice(int(items.stops[first]), int(items.stops[last]))


def stops_of_items(items: Any, k: slice) -> Array:
    """Return where the variables of a slice of duals or solutions begin, counted from its first, and where all end."""
    first, last, _ = k.indices(len(items))
    return items.stops[first : last + 1] - items.stops[first]


def _end_to_end(items, name):
    """Return the arrays or numbers of a name of some records, without a copy of a single array."""
    values = [getattr(each, name) for each in items]
    if not isinstance(values[0], np.ndarray):
        return np.array(values)
    return values[0] if len(values) == 1 else np.concatenate(values)


def _stops(items):
    """Return where the variables of duals or solutions begin, one after the other, and where all end."""
    return np.array([0, *itertools.accumulate(len(each.coef) for each in items)])


def groups(stops: Array, most: int) -> list[slice]:
    """Return the duals in groups of at most so many variables, or of one dual, from where their variables begin."""
    found = [0]
    while found[-1] < len(stops) - 1:
        last = int(stops.searchsorted(stops[found[-1]] + most, side="right")) - 1
        found.append(max(last, found[-1] + 1))
    return [slice(*pair) for pair in itertools.pairwise(found)]
