"""Fit of few vectors, from their starts, to a model at rows and copies, or to labels, as held-out rows decide.

The model gives its outputs at any point. With few rows for each free number, moved vectors meet the outputs at the rows
and miss those between them; at copies that are unlike the data, they meet outputs that no data need.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer import landmarks
from mercer._common import AnyFunction, Array, Seed, as_float64, record
from mercer._compute.points import dense
from mercer.kernels import Gaussian
from mercer.kernels.base import Kernel
from mercer.solvers.few_vectors.objective import MANY, Fit, Objective, Rows
from mercer.solvers.few_vectors.refit import (
    LONGEST,
    LOW_WEIGHT,
    SHORTER,
    SURE,
    VALUES,
    Effort,
    refit,
    standard_errors,
)

# Levels of the noise of copies, and None for recombined rows.
_LEVELS = 0.5, 1.0, None
# Folds of the rows, one of which is held out: trial fits are compared on every fourth row.
FOLDS = 4
# Standard errors by which labels or outputs lead where one replaces the other.
_STANDARD_ERRORS = 1.0
# Most halvings of gamma.
_HALVINGS = 3
# Largest number of rows for each centre that vectors start from.
_ROWS_OF_CENTRE = 100


@record
class Model:
    """A model that few vectors replace: ``answers(X)`` are its outputs at points and the signs of its classes or None.

    ``afresh(places)`` gives ``answers`` of a model fitted to these rows only, or None where they lack a class.
    """

    answers: Callable[[Array], tuple[Array, Array | None]]
    afresh: Callable[[Array], AnyFunction | None] = lambda _: None


@record
class Choice:
    """A candidate: the kernel, and whether labels are fitted, or outputs at copies of a level and their number."""

    kernel: Kernel
    labelled: bool
    copies: int = 0
    level: float | None = _LEVELS[0]


@dataclass
class Trials:
    r"""Fits of few vectors to rows from one start: short ones without held-out rows, each computed once, and the last.

    A copy of a row has normal noise of standard deviation :math:`\lambda r / \sqrt d`, with r the mean distance of its
    row to the 5 nearest rows, or it is recombined: each number is that of its row or of another row, which suits
    columns that depend little on each other.
    """

    rows: Rows
    model: Model
    start: Array
    longest: float = LONGEST
    seed: int = 0
    callback: Any = None
    # the deviations of noise of level 1 (n, 1)
    spread: Any = None

    def __post_init__(self) -> None:
        n, d = self.rows.X.shape
        own = self.rows.own
        columns = self.rows.outputs.shape[1] if own is None else np.abs(own).sum(axis=1).mean()
        self.held: Array = np.arange(n) % FOLDS == 0
        self.copies: int = (
            0
            if self.held.all() or self.rows.copies > 1
            else wanted_copies(n, len(self.start), d, columns)
        )
        self._seen: dict[Any, Rows] = {}
        self._table: dict[Choice, Fit] = {}
        if self.spread is None:
            self.spread = spread(self.rows.X, self.seed) if self.copies else np.zeros((n, 1))

    def choose(self, kernel: Kernel) -> tuple[Choice, Fit]:
        """Return a choice, and its fit to all rows: to labels if the rows have copies of their own, else by trials.

        Of the levels 1/2 and 1 of the noise and recombined rows, those with the smallest loss on held-out rows are
        taken: at outputs in (-1, 1) the squared difference, elsewhere the violation of the margin. The gamma of a
        Gaussian kernel is halved while fewer held-out rows with noise have an output of the wrong sign: few vectors
        follow a boundary better with wider functions.

        Labels lead to fewer errors than the outputs of the model, or to far more. From 4 096 rows on the outputs must
        be better by a standard error, because copies of many rows take long. Below, the labels must, or by two standard
        errors where there are copies, since the last fit, of more passes, follows single labels there; gamma is halved
        for labels while there are fewer errors. Outputs of a model that knows the held-out rows, and small gammas
        beside it, look better than they are: these fits are to outputs of a model that is fitted without them.
        """
        outputs = Choice(kernel, False, self.copies)
        labels = Choice(kernel, True)
        if self.rows.copies > 1:
            return labels, self._last(labels, None)
        labelled = self.rows.labels is not None and not self.held.all()
        # unless labels mislead, many rows have no copies, which cost time and made clean data sets worse
        many = len(self.rows.X) >= MANY
        # one copy is enough for the comparison
        if (
            labelled
            and many
            and self.lead(labels, replace(outputs, copies=min(self.copies, 1))) > -_STANDARD_ERRORS
        ):
            return labels, self._last(labels, self.trial(labels))
        outputs = self._best(outputs) if self.copies else outputs
        beside = self._beside() if labelled and not many else None
        if beside is not None:
            labels = _widest(labels, lambda choice: beside.wrong(choice).sum())
            if beside.lead(labels, outputs) > (SURE if self.copies else _STANDARD_ERRORS):
                return labels, self._last(labels, beside.trial(labels))
        return outputs, self._last(outputs, self.trial(outputs) if self.copies else None)

    def again(self, choice: Choice) -> tuple[Choice, Fit]:
        """Return the choice for more vectors, and a shorter fit to all rows."""
        choice = replace(choice, copies=self.copies)
        return choice, self._whole(choice, self.start, SHORTER)

    def _last(self, choice, trial):
        """Return the fit to all rows from where a trial ended, if there is one."""
        if trial is None:
            return self._whole(choice, self.start, 1.0)
        return self._whole(choice, trial.points, 1 - SHORTER)

    def _whole(self, choice, start, share):
        rows = self._copied(choice, slice(None))
        return self._fit(choice, start, rows, Effort(share, self.longest))

    def _fit(self, choice, start, rows, effort):
        return refit(choice.kernel, start, rows, choice.labelled, effort, self.seed, self.callback)

    def trial(self, choice: Choice) -> Fit:
        """Return the shorter fit to the rows that are not held out."""
        if choice not in self._table:
            # the same rows for all kernels
            key = replace(choice, kernel=None)
            if key not in self._seen:
                self._seen[key] = self._copied(choice, ~self.held)
            self._table[choice] = self._fit(
                choice, self.start, self._seen[key], Effort(SHORTER, 1.0)
            )
        return self._table[choice]

    def _copied(self, choice, places):
        """Return some of the rows, and for outputs their copies."""
        rows = self.rows.take(places)
        if choice.labelled:
            return rows
        if choice.level is None:
            added = recombined(rows.X, choice.copies, self.seed)
        else:
            added = noise(rows.X, choice.level * self.spread[places], choice.copies, self.seed)
        if not len(added):
            return rows
        added = np.maximum(added, 0) if choice.kernel.tags.nonnegative else added
        outputs, own = self.model.answers(added)
        return replace(
            rows,
            X=np.concatenate([rows.X, added]),
            outputs=np.concatenate([rows.outputs, outputs]),
            own=None if own is None else np.concatenate([rows.own, own]),
            labels=None,
            weights=np.tile(rows.weights, 1 + choice.copies),
        )

    def _best(self, choice):
        """Return the choice of a width, and of the level with the smallest loss on held-out rows."""
        if self.rows.own is not None:
            noisy = self._copied(choice, self.held)

            def errors(choice):
                wrong = (
                    Objective(choice.kernel, noisy, labelled=False).count_errors(self.trial(choice))
                    > 0
                )
                return np.average(wrong, weights=noisy.weights)

            choice = _widest(choice, errors)
        held = self.rows.take(self.held)
        scale = self.rows.scale

        def loss(choice):
            points, coef, intercept = self.trial(choice)
            objective = Objective(
                choice.kernel, replace(held, outputs=held.outputs / scale), labelled=False
            )
            return objective.loss(Fit(points, coef / scale, intercept / scale), LOW_WEIGHT)

        return min([replace(choice, level=level) for level in _LEVELS], key=loss)

    def _beside(self):
        """Return these trials with the outputs of a model that does not know the held-out rows, or None."""
        answers = self.model.afresh(np.flatnonzero(~self.held))
        if answers is None:
            return None
        outputs, own = answers(self.rows.X)
        return replace(
            self, rows=replace(self.rows, outputs=outputs, own=own), model=Model(answers)
        )

    def lead(self, first: Choice, second: Choice) -> float:
        """Return by how many standard errors a choice has fewer wrong labels than a second one."""
        return standard_errors(self.wrong(second), self.wrong(first))

    def wrong(self, choice: Choice) -> Array:
        """Return the weighted numbers of binary classifiers that are wrong on each held-out row."""
        held = self.rows.take(self.held)
        return held.weights * Objective(choice.kernel, held).count_errors(self.trial(choice))


def _widest(choice, errors):
    """Return a choice with the gamma of a Gaussian kernel halved while ``errors(choice)`` falls."""
    least = errors(choice)
    for _ in range(_HALVINGS if type(choice.kernel) is Gaussian else 0):
        wider = replace(choice, kernel=Gaussian(choice.kernel.gamma / 2))
        if (share := errors(wider)) >= least:
            break
        choice = wider
        least = share
    return choice


# --- copies of rows between which moved vectors meet the outputs: with noise, or recombined ---------------------------


def wanted_copies(rows: int, vectors: int, features: int, columns: float) -> int:
    """Return how many copies of some rows, at most 5, are drawn for moved vectors: for ten equations a number.

    A row gives one equation for each of its columns; a vector has ``features`` coordinates and ``columns``
    coefficients.

    Examples
    --------
    >>> from mercer.solvers.few_vectors.trials import wanted_copies
    >>> wanted_copies(400, 5, 21, 1), wanted_copies(100_000, 5, 21, 1)
    (2, 0)
    """
    wanted = min(10 * vectors * (features / columns + 1), VALUES / vectors)
    return int(np.clip(np.ceil(wanted / rows) - 1, 0, 5))


def spread(X: Array, random_state: Seed) -> Array:
    """Return the mean distance of each row to its five nearest rows over sqrt(d), (n, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.few_vectors.trials import spread
    >>> spread(np.array([[0.0], [1.0], [3.0]]), 0).ravel()
    array([2. , 1.5, 2.5])
    """
    n, d = X.shape
    some = X[landmarks.uniform(X, min(n, MANY), random_state)]
    # the first is the row itself
    near = NearestNeighbors(n_neighbors=min(5 + 1, len(some))).fit(some).kneighbors(X)[0][:, 1:]
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
    partners = np.concatenate(
        [rng.permutation(len(X)) for _ in range(copies)] or [np.empty(0, int)]
    )
    rows = np.tile(X, (copies, 1))
    return np.where(rng.random(rows.shape) < 0.5, X[partners], rows)


# --- where vectors start: k-means centres of each class, more for classes with rows near the margin -------------------


def starts(
    X: Array, outputs: Array, signs: Array | None, n_vectors: int, points: Any, seed: int
) -> Array:
    """Return starting points (n_vectors, d) of vectors, from rows X with outputs and signs or None.

    Every class gets a number in proportion to its rows within the margin of a binary classifier, at least one, from
    k-means on at most 100 rows per centre. Some of ``points`` are drawn if there are too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.few_vectors.trials import starts
    >>> X = np.array([[0.0], [1.0], [9.0]])
    >>> starts(X, X, None, 1, X, 0).round(2)
    array([[3.33]])
    """
    rng = np.random.default_rng(seed)
    X = as_float64(X)
    groups = [np.arange(len(X))]
    near = np.ones(len(X))
    if signs is not None:
        _, codes = np.unique(signs, axis=0, return_inverse=True)
        codes = codes.ravel()
        classes = [np.flatnonzero(codes == c) for c in range(codes.max() + 1)]
        near = np.where((np.abs(signs) * (1 - signs * outputs) > -0.001).any(axis=1), 1.0, 0.02)
        if n_vectors >= len(classes):
            groups = classes
    sizes = _shares(
        np.array([near[rows].sum() for rows in groups]), [len(rows) for rows in groups], n_vectors
    )
    centres = [
        _centres(X[rows], size, rng) for rows, size in zip(groups, sizes, strict=True) if size
    ]
    found = np.concatenate(centres)
    missing = n_vectors - len(found)
    if missing:
        points = dense(points).astype(np.float64)
        found = np.concatenate(
            [found, points[rng.choice(len(points), missing, replace=len(points) < missing)]]
        )
    return found


def _shares(mass, most, total):
    """Return how many of ``total`` each group gets, in proportion to its mass: at least one, at most its size."""
    most = np.asarray(most)
    sizes = np.minimum(1, most)
    while sizes.sum() < min(total, most.sum()):
        # the next one goes to the group with the smallest number for its mass
        sizes[np.argmax(np.where(sizes < most, mass / (sizes + 0.5), -1))] += 1
    return sizes


def _centres(X, size, rng):
    rows = rng.permutation(len(X))[: _ROWS_OF_CENTRE * size]
    distinct = np.unique(X[rows], axis=0)
    if len(distinct) <= size:
        return distinct
    return landmarks.k_means(distinct, size, int(rng.integers(2**31 - 1)))
