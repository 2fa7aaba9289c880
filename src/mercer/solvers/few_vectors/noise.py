"""Fit of few vectors to a model at rows and changed copies of them, or to labels.

The model gives its outputs at any point. With few rows for each free number, moved vectors meet the outputs at the rows
and miss those between them; at copies that are unlike the data, they meet outputs that no data need.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer import landmarks
from mercer._common import Array, Seed
from mercer.kernels import Gaussian
from mercer.solvers.few_vectors.objective import Objective
from mercer.solvers.few_vectors.refit import LONGEST, LOW_WEIGHT, SHORTER, VALUES, refit, standard_errors

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel
    from mercer.solvers.few_vectors.refit import Refit

# Rows that are many: unless labels mislead, there are no copies, which cost time and made clean data sets worse.
_MANY = 4096
# Equations wanted for each free number, and most copies of the rows.
_EQUATIONS, _COPIES = 10, 5
# Neighbours that give the distance of a row to other rows, and most rows among which they are searched.
_NEAR, _AMONG = 5, 4096
# Levels of the noise of copies, and None for recombined rows. They are compared on every fourth row.
_LEVELS, _HELD = (0.5, 1.0, None), 4
# Lead of labels or outputs by which one replaces the other, and that of labels where rows are few for the free numbers.
_STANDARD_ERRORS, _OF_FEW = 1.0, 2.0
# Most halvings of gamma.
_HALVINGS = 3


@dataclass(frozen=True)
class Choice:
    """Kernel, and whether labels are fitted, or outputs at copies of a level, as held-out rows decided."""

    kernel: Kernel
    labelled: bool
    level: float | None = _LEVELS[0]


def refit_at_noise(
    kernel: Kernel,
    start: Array,
    X: Array,
    outputs: Array,
    answers: Callable[[Array], tuple[Array, Array | None]],
    signs: Array | None = None,
    afresh: Callable[[Array], Callable[..., Any] | None] = lambda _: None,
    *,
    own: Array | None = None,
    weights: Array | None = None,
    scale: Any,
    random_state: Seed,
    callback: Callable[..., Any] | None = None,
    longest: float = LONGEST,
) -> tuple[Choice, Refit]:
    r"""Return a choice and `refit` to the outputs of a model at rows X (n, d) and copies of them, or to labels.

    ``outputs`` (n, m) and their signs ``own`` are those of the model at X, ``answers`` gives both at other points,
    ``signs`` are those of the labels, ``afresh(rows)`` gives ``answers`` of a model fitted to these rows only, or None
    where they lack a class, and ``weights`` (n,) are the factors of rows in all sums. A copy has normal noise of
    standard deviation :math:`\lambda r / \sqrt d`, with r the mean distance of its row to the 5 nearest rows, or it is
    recombined: each number is that of its row or of another row, which suits columns that depend little on each other.
    Of the levels 1/2 and 1 of :math:`\lambda` and recombined rows, those with the smallest loss on rows held out of a
    shorter fit are taken: at outputs in (-1, 1) the squared difference, elsewhere the violation of the margin. The
    gamma of a Gaussian kernel is halved while fewer held-out rows with noise have an output of the wrong sign: few
    vectors follow a boundary better with wider functions.

    Labels lead to fewer errors than the outputs of the model, or to far more. A shorter fit to each shows which on
    held-out rows. From 4 096 rows on the outputs must be better by a standard error, because copies of many rows take
    long. Below, the labels must, or by two standard errors where there are copies, since the last fit, of more
    passes, follows single labels there; gamma is halved for labels while there are fewer errors. Outputs of a
    model that knows the held-out rows, and small gammas beside it, look better than they are: these fits are to outputs
    of a model that is fitted without them.
    """
    options = {"scale": scale, "random_state": random_state, "callback": callback, "longest": longest}
    weights = np.ones(len(X)) if weights is None else weights
    trials = _Trials(kernel, start, X, outputs, own, answers, signs, weights, options)
    labels = signs is not None and not trials.held.all()
    if labels and len(X) >= _MANY:
        labelled = trials.of_labels(kernel)
        # one copy is enough for the comparison
        outputs = trials.of_outputs(kernel, _LEVELS[0], min(trials.copies, 1))
        if trials.lead((kernel, labelled), (kernel, outputs)) > -_STANDARD_ERRORS:
            return trials.go_on(Choice(kernel, True), labelled)
    choice, found = trials.best()
    unknowing = afresh(np.flatnonzero(~trials.held)) if labels and len(X) < _MANY else None
    if unknowing is not None:
        beside = trials.beside(unknowing)
        wider, labelled = _widened(kernel, beside.of_labels, beside.wrong_labels)
        outputs = beside.of_outputs(choice.kernel, choice.level, trials.copies)
        least = _OF_FEW if trials.copies else _STANDARD_ERRORS
        if beside.lead((wider, labelled), (choice.kernel, outputs)) > least:
            return trials.go_on(Choice(wider, True), labelled)
    return trials.go_on(choice, found)


def refit_again(
    choice: Choice,
    start: Array,
    X: Array,
    outputs: Array,
    answers: Callable[[Array], tuple[Array, Array | None]],
    signs: Array | None = None,
    *,
    own: Array | None = None,
    **options: Any,
) -> Refit:
    """Return a shorter fit by the choice of `refit_at_noise`, from points of a fit of more vectors."""
    trials = _Trials(choice.kernel, start, X, outputs, own, answers, signs, np.ones(len(X)), options)
    return trials.fit(choice, start, SHORTER)


class _Trials:
    """Shorter fits without held-out rows, to outputs at rows and copies of them, and to labels."""

    def __init__(self, kernel, start, X, outputs, own, answers, signs, weights, options):
        self.kernel, self.start = kernel, start
        self.X, self.outputs, self.own = X, outputs, own
        self.answers, self.signs, self.weights, self.options = answers, signs, weights, options
        columns = self.outputs.shape[1] if self.own is None else np.abs(self.own).sum(axis=1).mean()
        self.held = np.arange(len(X)) % _HELD == 0
        self.copies = 0 if self.held.all() else wanted_copies(len(X), len(start), X.shape[1], columns)
        self.sizes = spread(X, options["random_state"]) if self.copies else np.zeros((len(X), 1))
        self.answered = {}

    def copied(self, rows, level, copies):
        """Return some of the rows with copies, outputs there and their signs or None; and the weights."""
        X, outputs, own = self.X[rows], self.outputs[rows], None if self.own is None else self.own[rows]
        seed = self.options["random_state"]
        added = recombined(X, copies, seed) if level is None else noise(X, level * self.sizes[rows], copies, seed)
        if not len(added):
            return (X, outputs, own), self.weights[rows]
        weights = np.tile(self.weights[rows], 1 + copies)
        added = np.maximum(added, 0) if self.kernel.tags.nonnegative else added
        others, signs = self.answers(added)
        signs = None if own is None else np.concatenate([own, signs])
        rows = np.concatenate([X, added]), np.concatenate([outputs, others]), signs
        return rows, weights

    def of_outputs(self, kernel, level, copies):
        """Return points, coefficients and intercepts fitted to outputs."""
        if (level, copies) not in self.answered:
            # the same for all kernels
            self.answered[level, copies] = self.copied(~self.held, level, copies)
        rows, weights = self.answered[level, copies]
        return self._fit(kernel, *rows, weights=weights, labelled=False)

    def best(self):
        """Return the choice of the smallest loss on held-out rows, and its fit; without copies none is fitted."""
        kernel, level = self.kernel, _LEVELS[0]
        if not self.copies:
            return Choice(kernel, False), None
        if self.own is None:
            fits = [self.of_outputs(kernel, level, self.copies)]
        else:
            (X, outputs, own), weights = self.copied(self.held, level, self.copies)

            def wrong(kernel, found):
                return np.average(Objective(kernel, X, outputs, own).count_errors(*found) > 0, weights=weights)

            kernel, *fits = _widened(kernel, lambda each: self.of_outputs(each, level, self.copies), wrong)
        fits += [self.of_outputs(kernel, level, self.copies) for level in _LEVELS[1:]]
        losses = [self._unseen(kernel, self.own).loss(*found, LOW_WEIGHT) for found in fits]
        best = int(np.argmin(losses))
        return Choice(kernel, False, _LEVELS[best]), fits[best]

    def of_labels(self, kernel):
        """Return points, coefficients and intercepts fitted to labels."""
        seen = ~self.held
        rows = self.X[seen], self.outputs[seen], self.signs[seen]
        return self._fit(kernel, *rows, weights=self.weights[seen])

    def beside(self, answers):
        """Return these trials with the outputs of another model."""
        others = copy.copy(self)
        others.answers, others.answered = answers, {}
        others.outputs, others.own = answers(self.X)
        return others

    def wrong_labels(self, kernel, found):
        """Return the number of wrong binary classifiers per held-out row."""
        return np.average(self._wrong(kernel, found), weights=self.weights[self.held])

    def lead(self, first, second):
        """Return by how many standard errors a kernel and its fit have fewer wrong labels than a second one."""
        held = self.weights[self.held]
        return standard_errors(held * self._wrong(*second), held * self._wrong(*first))

    def _wrong(self, kernel, found):
        return self._unseen(kernel, self.signs).count_errors(*found)

    def go_on(self, choice, found):
        """Return a choice and its fit to all rows, from where a shorter one ended if there is one."""
        start, share = (self.start, 1.0) if found is None else (found[0], 1 - SHORTER)
        return choice, self.fit(choice, start, share)

    def fit(self, choice, start, share):
        """Return the fit to all rows by a choice, with a share of the passes."""
        if choice.labelled:
            rows, weights = (self.X, self.outputs, self.signs), self.weights
        else:
            rows, weights = self.copied(slice(None), choice.level, self.copies)
        options = {**self.options, "labelled": choice.labelled, "weights": weights, "share": share}
        return refit(choice.kernel, start, *rows, **options)

    def _fit(self, kernel, rows, outputs, signs, **options):
        options = {**self.options, **options, "share": SHORTER, "longest": 1.0}
        found = refit(kernel, self.start, rows, outputs, signs, **options)
        return found.points, found.coef / self.options["scale"], found.intercept / self.options["scale"]

    def _unseen(self, kernel, signs):
        """Return the objective on held-out rows."""
        held, scale = self.held, self.options["scale"]
        signs = None if signs is None else signs[held]
        return Objective(kernel, self.X[held], self.outputs[held] / scale, signs, True, self.weights[held])


def _widened(kernel, fit, errors):
    """Return a kernel and ``fit(kernel)``; the gamma of a Gaussian is halved while ``errors(kernel, fit)`` falls."""
    found = fit(kernel)
    least = errors(kernel, found)
    for _ in range(_HALVINGS if type(kernel) is Gaussian else 0):
        wider = Gaussian(kernel.gamma / 2)
        other = fit(wider)
        if (share := errors(wider, other)) >= least:
            break
        kernel, found, least = wider, other, share
    return kernel, found


def wanted_copies(rows: int, vectors: int, features: int, columns: float) -> int:
    """Return how many copies of some rows are drawn for moved vectors, so that there are ten equations a number.

    A row gives one equation for each of its columns; a vector has ``features`` coordinates and ``columns``
    coefficients.

    Examples
    --------
    >>> from mercer.solvers.few_vectors.noise import wanted_copies
    >>> wanted_copies(400, 5, 21, 1), wanted_copies(100_000, 5, 21, 1)
    (2, 0)
    """
    wanted = min(_EQUATIONS * vectors * (features / columns + 1), VALUES / vectors)
    return int(np.clip(np.ceil(wanted / rows) - 1, 0, _COPIES))


def spread(X: Array, random_state: Seed) -> Array:
    """Return the mean distance of each row to its nearest rows over sqrt(d), (n, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.few_vectors.noise import spread
    >>> spread(np.array([[0.0], [1.0], [3.0]]), 0).ravel()
    array([2. , 1.5, 2.5])
    """
    n, d = X.shape
    some = X[landmarks.uniform(np.empty((n, 1)), min(n, _AMONG), random_state)]
    # the first is the row itself
    near = NearestNeighbors(n_neighbors=min(_NEAR + 1, len(some))).fit(some).kneighbors(X)[0][:, 1:]
    return near.mean(axis=1, keepdims=True) / np.sqrt(d)


def noise(X: Array, deviations: Array, copies: int, seed: Any) -> Array:
    """Return copies of rows with normal noise of standard deviations (n, 1), stacked; none for 0."""
    if not np.any(deviations):
        return X[:0]
    drawn = np.random.default_rng(seed).standard_normal((copies, *X.shape)) * deviations
    return (X + drawn).reshape(-1, X.shape[1]).astype(X.dtype)


def recombined(X: Array, copies: int, seed: Any) -> Array:
    """Return copies of rows, stacked, in which each number is replaced with probability 1/2 by that of another row.

    All of a copy are from one other row.
    """
    rng = np.random.default_rng(seed)
    partners = np.concatenate([rng.permutation(len(X)) for _ in range(copies)] or [np.empty(0, int)])
    rows = np.tile(X, (copies, 1))
    return np.where(rng.random(rows.shape) < 0.5, X[partners], rows)
