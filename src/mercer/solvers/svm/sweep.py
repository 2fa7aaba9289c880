"""A sweep of SMO: some variables are solved for while all others stay, with the kernel rows that memory holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._common import Array
from mercer._compute.threads import check_cancelled
from mercer.solvers.svm import shrinking
from mercer.solvers.svm.bias import excess
from mercer.solvers.svm.row_cache import RowCache
from mercer.solvers.svm.shrinking import Variables
from mercer.solvers.svm.workspace import COPIES

if TYPE_CHECKING:
    from mercer.solvers.svm.dual import Dual
    from mercer.solvers.svm.workspace import Workspace

# Number of rows computed together with one that a step needs, of variables that violate by this share of the most.
_BATCH = 64
_RELEVANT = 0.5
# Number of kernel values held, and of multiplications to compute them, below which all rows are computed at once.
_SMALL, _QUICK = 4352**2, 1 << 31
# Number of steps between two checks whether few variables are left near the margin, as a share of all.
_CHECK = 8
# Least number of steps between two looks of Python, which take as long as hundreds of steps over few variables.
_STEPS = 1024
# Number of variables of known rows that are solved for before other rows are computed.
_KNOWN = 2048
# Number of rows kept although their variables rest at their bounds.
_IDLE = 1024


class Sweep:
    """Variables ``chosen`` (int array) of a dual that are solved for while all others stay."""

    def __init__(
        self, rows: Any, dual: Dual, chosen: Array, gradient: Array, coef: Array, workspace: Workspace
    ) -> None:
        self.chosen, self._rows, self._dual = chosen, rows, dual
        self._largest_copy = COPIES * len(workspace.buffer)
        self._callback = workspace.callback
        self._load(gradient, coef)
        self.cache: RowCache = RowCache(rows, dual.points[chosen], workspace.buffer, workspace.shared)
        known = sum((part.stop - part.start) ** 2 for part, _ in workspace.shared)
        work = 0.5 * (len(chosen) ** 2 - known) * rows.width
        # from a given start a solver may need few rows, which matters unless all are known
        started = rows.width > 0 and coef[chosen].any()
        if not started and len(chosen) ** 2 <= _SMALL and work <= _QUICK:
            self.cache.complete()

    def exchange(self, chosen: Array, dual: Dual, gradient: Array, coef: Array) -> bool:
        """Take another dual and other variables, if at least half are the same; return whether that was done."""
        self._dual = dual
        if len(chosen) != len(self.chosen):
            return False
        kept = np.isin(self.chosen, chosen)
        places = np.flatnonzero(~kept)
        if len(places) > 0.5 * len(chosen):
            return False
        if len(places):
            self.chosen: Array = self.chosen.copy()
            self.chosen[places] = np.setdiff1d(chosen, self.chosen)
            self.cache.exchange(places, self._dual.points[self.chosen[places]])
        self._load(gradient, coef)
        return True

    def result(self) -> tuple[Array, Array]:
        """Return the coefficients and the gradient of the variables."""
        return self._variables.coef[: len(self.chosen)], self._variables.gradient[: len(self.chosen)]

    def _load(self, gradient, coef):
        c, dual = self.chosen, self._dual
        diagonal = self._rows.diagonal[dual.points[c]]
        arrays = diagonal, gradient[c], coef[c], dual.lower[c], dual.upper[c]
        self._variables = Variables.padded(*arrays, epsilon=dual.epsilon)

    def run(self, tol: float, max_iter: int, *, dense: bool = False) -> tuple[int, bool]:
        """Take steps until ``tol`` or ``max_iter``; return their number and whether the callback stopped them.

        ``dense`` says that most variables will move: their rows are then computed before the first step.
        """
        cache, variables = self.cache, self._variables
        n_iter, since, pause = 0, 0, len(variables) // _CHECK
        cache.ensure(np.arange(len(self.chosen)) if dense else variables.free())
        while n_iter < max_iter:
            check_cancelled()
            left = max_iter - n_iter
            if since >= pause:
                steps, pays, stopped = self._solve_near(tol, left)
                n_iter += steps
                if stopped or variables.violation() <= tol:
                    return n_iter, stopped
                if pays:
                    continue
                since, pause = 0, 2 * pause if steps else pause
            most = min(left, max(len(variables), _STEPS))
            steps, missing, violation = variables.steps(cache.values, cache.slots, tol, most)
            n_iter, since = n_iter + steps, since + steps
            if self._callback is not None and self._callback(violation):
                return n_iter, True
            if violation <= tol:
                break
            if missing >= 0:
                self._make_room()
                cache.ensure(self._wanted(missing))
                steps, stopped = self._solve_known(tol, max_iter - n_iter)
                n_iter += steps
                if stopped:
                    return n_iter, True
        return n_iter, False

    def _solve_near(self, tol, max_iter):
        """Solve for the variables near the margin, if that costs less than for all.

        Return the number of steps, whether they were worth copying kernel values, and whether they were stopped.
        """
        cache, variables = self.cache, self._variables
        near, all_of_them = shrinking.near_margin(variables)
        # rows of violators are needed anyway, those of variables that may violate later perhaps not
        allowed = _BATCH + len(near) // 8 if all_of_them else len(near)
        unknown = near[cache.slots[near] < 0]
        if not shrinking.few(variables, near) or len(near) ** 2 > self._largest_copy:
            return 0, False, False
        if len(unknown) > allowed:
            return 0, False, False
        cache.ensure(unknown)
        steps, stopped = shrinking.solve_near(cache.values, cache.slots, variables, near, tol, max_iter, self._callback)
        return steps, shrinking.pays(variables, near, steps), stopped

    def _solve_known(self, tol, max_iter):
        """Solve for the variables near the margin whose rows are known, before other rows are computed."""
        cache, variables = self.cache, self._variables
        known = variables.near()
        known = known[cache.slots[known] >= 0]
        if len(known) > _KNOWN:
            return 0, False
        return shrinking.solve_near(cache.values, cache.slots, variables, known, tol, max_iter, self._callback)

    def _make_room(self):
        """Give up rows that are unlikely to be needed, before unused memory is taken."""
        cache, variables = self.cache, self._variables
        known = np.flatnonzero(cache.slots >= 0)
        if cache.forgotten >= _BATCH or len(known) < _IDLE:
            return
        # by violation alone: the first variable of a pair whose second row is missing must stay
        worst = excess(*variables.slopes(), variables.middle())[known]
        idle = int(np.count_nonzero(worst < 0))
        if idle > len(known) // 2:
            cache.forget(known[np.argpartition(worst, idle // 2)[: idle // 2]])

    def _wanted(self, missing):
        """Return the variables whose rows to compute together with a missing one: those that violate most."""
        own = slice(0, len(self.chosen))
        middle = self._variables.middle()
        rising, falling = (each[own] for each in self._variables.slopes())
        worth = np.where(rising == falling, rising - middle, excess(rising, falling, middle))
        # rows of smaller violations may never be needed
        worth[(self.cache.slots[own] >= 0) | (worth < _RELEVANT * worth.max())] = -np.inf
        return np.unique(np.append(_largest(worth, _BATCH - 1), missing))


def _largest(values, k):
    """Return the places of the k largest finite values."""
    best = np.argpartition(-values, k)[:k] if k < len(values) else np.arange(len(values))
    return best[values[best] > -np.inf]
