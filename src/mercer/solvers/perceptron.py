"""The perceptron in dual variables: a record of mistakes, from which all its forms follow."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Mistakes:
    """The mistakes of a perceptron in the order in which it made them.

    Attributes
    ----------
    rows : integer array (t,)
        The example of each mistake.
    signs : array (t,)
        Its label, +1 or -1; the weight vector is sum_t signs[t] phi(x_rows[t]).
    times : integer array (t,)
        How many examples had been presented before.
    seen : int
        How many were presented in all.
    n_iter : int
        Passes over the examples.
    last : int
        Mistakes of the last pass: 0 when the examples are separated.
    """

    rows: np.ndarray
    signs: np.ndarray
    times: np.ndarray
    seen: int
    n_iter: int
    last: int


def learn(gram, y, orders, scores=None):
    r"""Present examples until a pass makes no mistake, and return the mistakes.

    .. math:: \text{if}\; y_j \sum_i \alpha_i k(x_i, x_j) \le 0 \;\text{then}\; \alpha_j \leftarrow \alpha_j + y_j

    without a bias, from alpha = 0.

    Parameters
    ----------
    gram : matrix (n, n)
        An array or a ``Gram``; the column of a mistake is read when it is made.
    y : array (n,)
        Of +1 and -1.
    orders : iterable of integer arrays
        The order of the examples, one for each pass at most.
    scores : array (n,), optional
        What a vector learned before gives on the examples; 0 when left out.

    Returns
    -------
    Mistakes

    Notes
    -----
    O(n) a mistake besides the column, and O(n) a pass. Scores are summed in float64 in the order of the mistakes.

    References
    ----------
    Herbrich, *Learning kernel classifiers* (2002), algorithm 2 (printed with < 0, which never leaves alpha = 0).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [-2.0], [3.0]])
    >>> learn(X @ X.T, np.array([1.0, -1.0, 1.0]), [np.arange(3)] * 2).rows
    array([0])
    """
    scores = np.zeros(len(y)) if scores is None else np.array(scores, np.float64)
    rows, times, seen, passes, last = [], [], 0, 0, 0
    for order in orders:
        last = 0
        for position, j in _wrong(order, y, scores):
            scores += y[j] * gram[:, [j]][:, 0]
            rows.append(j)
            times.append(seen + position)
            last += 1
        seen, passes = seen + len(order), passes + 1
        if last == 0:
            break
    rows = np.array(rows, dtype=np.intp)
    return Mistakes(rows, y[rows], np.array(times, dtype=np.intp), seen, passes, last)


def _wrong(order, y, scores):
    """Yield position and index of every mistake of one pass; the caller changes the scores between two of them."""
    position = 0
    while (wrong := y[order[position:]] * scores[order[position:]] <= 0).any():
        position += int(wrong.argmax())
        yield position, order[position]
        position += 1


def joined(earlier, later, n_earlier):
    """Return the mistakes of two runs, one after the other, over the points of the first and then of the second.

    Parameters
    ----------
    earlier, later : Mistakes
    n_earlier : int
        Points of the first run: rows of the second are counted from there.

    Returns
    -------
    Mistakes
    """
    return Mistakes(
        np.concatenate([earlier.rows, later.rows + n_earlier]),
        np.concatenate([earlier.signs, later.signs]),
        np.concatenate([earlier.times, later.times + earlier.seen]),
        earlier.seen + later.seen,
        earlier.n_iter + later.n_iter,
        later.last,
    )


def final(mistakes, n):
    """Return the coefficients (n,) of the last vector, sum of signs by example.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [-2.0], [3.0]])
    >>> final(learn(X @ X.T, np.array([1.0, -1.0, 1.0]), [np.arange(3)] * 2), 3)
    array([1., 0., 0.])
    """
    return np.bincount(mistakes.rows, mistakes.signs, minlength=n)


def averaged(mistakes, n):
    """Return the coefficients (n,) of the mean of the vectors after each example that was presented.

    A mistake at time t is part of the last T - t of T vectors, so that its weight is (T - t) / T.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [2.0]])
    >>> averaged(learn(X @ X.T, np.array([-1.0, -1.0]), [np.arange(2)] * 2), 2)
    array([-1.,  0.])
    """
    weights = mistakes.signs * (mistakes.seen - mistakes.times) / max(mistakes.seen, 1)
    return np.bincount(mistakes.rows, weights, minlength=n)


def votes(K, mistakes):
    """Return the vote (n_test,) of all vectors, each with the share of examples it survived: in [-1, 1].

    Parameters
    ----------
    K : array (n_test, n)
        Kernel values of new points with the points of the mistakes.
    mistakes : Mistakes

    Returns
    -------
    array (n_test,)
        0 where no mistake was ever made.

    Notes
    -----
    O(n_test t) for t mistakes.

    References
    ----------
    Freund, Schapire, *Large margin classification using the perceptron algorithm*, Machine Learning 37 (1999), fig. 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [-2.0], [3.0]])
    >>> votes(X @ X.T, learn(X @ X.T, np.array([1.0, -1.0, 1.0]), [np.arange(3)] * 2))
    array([ 1., -1.,  1.])
    """
    survived = np.diff(mistakes.times, append=mistakes.seen)
    scores = np.cumsum(K[:, mistakes.rows] * mistakes.signs, axis=1, dtype=np.float64)
    return np.sign(scores) @ survived / max(mistakes.seen, 1)
