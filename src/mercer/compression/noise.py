"""Fit of few vectors to a model at few rows, with noisy copies of the rows.

The model gives its outputs at any point. With few rows for each free number, moved vectors meet the outputs at the rows
and miss those between them; with noise that the data do not have, they meet outputs that no data need.
"""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from mercer import landmarks
from mercer.compression.objective import Objective
from mercer.compression.refit import LOW_WEIGHT, VALUES, refit
from mercer.kernels import Gaussian

# Rows that are many: their labels count, and there is no noise, which costs time and made clean data sets worse.
_MANY = 4096
# Equations wanted for each free number, and most copies of the rows.
_EQUATIONS, _COPIES = 10, 5
# Neighbours that give the distance of a row to other rows, and most rows among which they are searched.
_NEAR, _AMONG = 5, 4096
# Levels of the noise. They are compared on every fourth row, with a third of the passes.
_LEVELS, _HELD, _TRIAL = (0.5, 1.0), 4, 1 / 3
# Most halvings of gamma.
_HALVINGS = 3


def refit_at_noise(kernel, start, X, answers, signs=None, *, scale, random_state, callback=None):
    r"""Return a kernel and `refit` at rows X (n, d) and, where they are few, at noisy copies of them.

    ``answers(X)`` gives outputs and their signs; from 4 096 rows on, ``signs`` count, those of the labels. A row has
    normal noise of standard deviation :math:`\lambda r / \sqrt d`, with r its mean distance to the 5 nearest rows. The
    level :math:`\lambda` of 1/2 or 1 is that with the smallest loss on rows held out of a shorter fit: at outputs in
    (-1, 1) the squared difference, elsewhere the violation of the margin. The gamma of a Gaussian kernel is halved
    while fewer held-out rows with noise have an output of the wrong sign: few vectors follow a boundary better with
    wider functions.
    """
    options = {"scale": scale, "random_state": random_state, "callback": callback}
    outputs, own = answers(X)
    if len(X) >= _MANY:
        return kernel, refit(kernel, start, X, outputs, signs, **options)
    options["labelled"] = False
    columns = outputs.shape[1] if own is None else np.abs(own).sum(axis=1).mean()
    copies = wanted_copies(len(X), len(start), X.shape[1], columns)
    held = np.arange(len(X)) % _HELD == 0
    if not copies or held.all():
        return kernel, refit(kernel, start, X, outputs, own, **options)
    sizes = spread(X, random_state)

    def noisy(rows, level):
        found = with_noise(X[rows], level * sizes[rows], copies, random_state)
        return np.maximum(found, 0) if kernel.tags.nonnegative else found

    def trial(kernel, level):
        seen = noisy(~held, level)
        found = refit(kernel, start, seen, *answers(seen), share=_TRIAL, **options)
        return found.points, found.coef / scale, found.intercept / scale

    if own is None:
        fits = [trial(kernel, _LEVELS[0])]
    else:
        kernel, *fits = _widened(kernel, noisy(held, _LEVELS[0]), answers, lambda kernel: trial(kernel, _LEVELS[0]))
    fits += [trial(kernel, level) for level in _LEVELS[1:]]
    unseen = Objective(kernel, X[held], outputs[held] / scale, None if own is None else own[held], inside=True)
    losses = [unseen.loss(*found, LOW_WEIGHT) for found in fits]
    rows = noisy(slice(None), _LEVELS[int(np.argmin(losses))])
    return kernel, refit(kernel, start, rows, *answers(rows), **options)


def _widened(kernel, X, answers, fit):
    """Return a kernel and its fit; the gamma of a Gaussian is halved while fewer rows get an output of wrong sign."""
    found, outputs, signs = fit(kernel), *answers(X)

    def errors(kernel, found):
        return np.mean(Objective(kernel, X, outputs, signs).count_errors(*found) > 0)

    least = errors(kernel, found)
    for _ in range(_HALVINGS if type(kernel) is Gaussian else 0):
        wider = Gaussian(kernel.gamma / 2)
        other = fit(wider)
        if (share := errors(wider, other)) >= least:
            break
        kernel, found, least = wider, other, share
    return kernel, found


def wanted_copies(rows, vectors, features, columns):
    """Return how many noisy copies of some rows are drawn for moved vectors, so that there are ten equations a number.

    A row gives one equation for each of its columns; a vector has ``features`` coordinates and ``columns``
    coefficients.

    Examples
    --------
    >>> from mercer.compression.noise import wanted_copies
    >>> wanted_copies(400, 5, 21, 1), wanted_copies(100_000, 5, 21, 1)
    (2, 0)
    """
    wanted = min(_EQUATIONS * vectors * (features / columns + 1), VALUES / vectors)
    return int(np.clip(np.ceil(wanted / rows) - 1, 0, _COPIES))


def spread(X, random_state):
    """Return the mean distance of each row to its nearest rows over sqrt(d), (n, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.compression.noise import spread
    >>> spread(np.array([[0.0], [1.0], [3.0]]), 0).ravel()
    array([2. , 1.5, 2.5])
    """
    n, d = X.shape
    some = X[landmarks.uniform(np.empty((n, 1)), min(n, _AMONG), random_state)]
    # the first is the row itself
    near = NearestNeighbors(n_neighbors=min(_NEAR + 1, len(some))).fit(some).kneighbors(X)[0][:, 1:]
    return near.mean(axis=1, keepdims=True) / np.sqrt(d)


def with_noise(X, deviations, copies, seed):
    """Return rows followed by copies of them with normal noise of standard deviations (n, 1); without copies for 0."""
    if not np.any(deviations):
        return X
    noise = np.random.default_rng(seed).standard_normal((copies, *X.shape)) * deviations
    return np.concatenate([X, (X + noise).reshape(-1, X.shape[1]).astype(X.dtype)])
