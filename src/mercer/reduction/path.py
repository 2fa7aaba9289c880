"""A path over the penalty of a sparse programme: the points it keeps, from one to as many as are wanted."""

import numpy as np

from mercer.reduction.base import Stage

# Each penalty over the one before it, and the last over the first.
_STEP, _LAST = 0.7, 1e-7
# Two penalties this near to one another have no size between them that is worth looking for.
_NEAR = 1 + 1e-5


def path(target, largest, solve, n_vectors):
    """Yield the supports of a programme for ever smaller penalties, and sets of every size between them.

    Where one support follows another, the points that enter are taken in the order of their price, so that there is a
    set of every size. When a support is larger than wanted, the penalty is found by bisection whose support is the
    largest that is not, and filled with the points that enter next: the last set has the size that is wanted.

    Parameters
    ----------
    target : Target
    largest : float
        The least penalty that keeps no point.
    solve : callable
        ``solve(penalty)`` returns what each point (n,) pays, 0 where it is not kept. It is called with similar
        penalties one after the other.
    n_vectors : int

    Yields
    ------
    Stage

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.path import path
    >>> target = Target(mc.features(mc.Linear(), np.eye(3)))
    >>> stages = path(target, 4.0, lambda penalty: np.maximum([4.0, 2.0, 1.0] - penalty * np.ones(3), 0), 3)
    >>> [stage.rows.tolist() for stage in stages]
    [[0], [0, 1], [0, 1, 2]]
    """
    before, penalty = np.empty(0, dtype=np.intp), largest
    while penalty > _LAST * largest:
        smaller = _STEP * penalty
        paid = solve(smaller)
        if np.count_nonzero(paid) > n_vectors:
            inside, beyond = _bisected(solve, penalty, smaller, paid, n_vectors)
            if np.count_nonzero(inside) > len(before):
                yield from _growing(target, before, inside)
                before = _ordered(before, inside)
            yield from (stage for stage in _growing(target, before, beyond) if len(stage.rows) <= n_vectors)
            return
        if np.count_nonzero(paid) > len(before):
            yield from _growing(target, before, paid)
            before = _ordered(before, paid)
        penalty = smaller


def _bisected(solve, penalty, smaller, beyond, n_vectors):
    """Return what is paid on both sides of the penalty at which the support becomes larger than wanted."""
    inside = np.zeros_like(beyond)
    while penalty > _NEAR * smaller and np.count_nonzero(inside) < n_vectors:
        middle = np.sqrt(penalty * smaller)
        paid = solve(middle)
        if np.count_nonzero(paid) > n_vectors:
            smaller, beyond = middle, paid
        else:
            penalty, inside = middle, paid
    return inside, beyond


def _ordered(before, paid):
    """Return the support, what was there before first, then by price."""
    new = np.setdiff1d(np.flatnonzero(paid), before)
    return np.concatenate([before[paid[before] > 0], new[np.argsort(-paid[new], kind="stable")]])


def _growing(target, before, paid):
    """Yield sets that grow from one support to another, which comes last."""
    new = np.setdiff1d(np.flatnonzero(paid), before)
    rows = np.concatenate([before, new[np.argsort(-paid[new], kind="stable")]])
    last = _ordered(before, paid)
    for size in range(len(before) + 1, len(last)):
        yield Stage(target.points, rows[:size])
    yield Stage(target.points, last)
