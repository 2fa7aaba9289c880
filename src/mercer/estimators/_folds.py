"""What the folds of a cross-validation find, and how scorers see it."""

import numpy as np

from mercer._compute.points import take_points
from mercer.estimators import _svc_path as along_prices
from mercer.estimators.svc import SVC
from mercer.expansion import Expansion
from mercer.solvers.svm.path import along


class Found:
    """What one fold found, for every machine and C."""

    def __init__(self, problem, train, test, n_prices):
        place = np.empty(problem.order.max() + 1, int)
        place[problem.order] = np.arange(len(problem.order))
        # a row drawn twice has twice the price
        self.weight = problem.prices * np.bincount(place[train], minlength=len(problem.order))
        self._problem, self.test = problem, place[test]
        self.coef = [None] * len(problem.machines)
        self.bias = np.empty((len(problem.machines), n_prices))
        self.scores = np.empty((n_prices, len(test), len(problem.machines)))
        self.violation, self.n_iter = 0.0, np.zeros(n_prices, int)

    def solve(self, m, machine, values, Cs, tol, report=None):
        """Solve one machine for all C, and score the held-out rows."""
        weight = self.weight[machine.rows]
        max_iter = along_prices.limit(machine)
        solutions = along(values, machine.sign, machine.rows, weight, Cs, tol=tol, max_iter=max_iter, report=report)
        coef = np.column_stack([each.coef for each in solutions])
        self.coef[m], self.bias[m] = coef, [each.bias for each in solutions]
        self.violation = max([self.violation, *(each.violation for each in solutions)])
        self.n_iter += [each.n_iter for each in solutions]
        self.scores[:, :, m] = (self._held_out(machine, values, coef) + self.bias[m]).T

    def _held_out(self, machine, values, coef):
        """Return K[test, rows] @ coef, from stored values for rows that the machine sees."""
        inside = np.full(len(self.weight), -1)
        inside[machine.rows] = np.arange(len(machine.rows))
        seen = inside[self.test]
        result = np.empty((len(self.test), coef.shape[1]))
        result[seen >= 0] = values.product(seen[seen >= 0], coef)
        other = self.test[seen < 0]
        used = np.flatnonzero(coef.any(axis=1))
        result[seen < 0] = 0
        if len(other) and len(used):
            points = self._problem.points
            psi = Expansion(self._problem.kernel, take_points(points, machine.rows[used]), coef[used])
            result[seen < 0] = psi(take_points(points, other))
        return result


class Fold(SVC):
    """The classifier of one fold and C, for scorers: scores of held-out rows are known."""

    def __init__(self, model, problem, found, k, held_out):
        super().__init__(**model.get_params(deep=False))
        self.classes_, self.kernel_ = problem.classes, problem.kernel
        self._problem_, self._found, self._k, self._held_out = problem, found, k, held_out

    def _new_points(self, X):
        return X

    def _scores(self, X):
        if X is self._held_out:
            return self._found.scores[self._k]
        columns = []
        for machine, coef, bias in zip(self._problem_.machines, self._found.coef, self._found.bias, strict=True):
            points = take_points(self._problem_.points, machine.rows)
            columns.append(Expansion(self.kernel_, points, coef[:, self._k])(X)[:, 0] + bias[self._k])
        return np.column_stack(columns)


def split(train, test, weights):
    """Return the rows of a split as indices, those of weight 0 left out; masks are read too."""
    parts = (np.arange(len(weights))[part] for part in (train, test))
    return tuple(part[weights[part] > 0] for part in parts)


def results(Cs, scores, n_iter):
    """Return the scores (folds, prices) as GridSearchCV names them."""
    mean = scores.mean(axis=0)
    # a score that could not be computed ranks last
    order = np.where(np.isnan(mean), -np.inf, mean)
    results = {f"split{i}_test_score": row for i, row in enumerate(scores)}
    return results | {
        "param_C": Cs,
        "params": [{"C": float(C)} for C in Cs],
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": 1 + np.array([int((order > own).sum()) for own in order]),
        "n_iter": n_iter,
    }
