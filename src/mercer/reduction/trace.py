"""The trace of a run: every set of points that a method proposed, its error, and the answer made of it."""

import numpy as np

from mercer._compute.points import take_points
from mercer.expansion import Expansion
from mercer.reduction.span import Span


class Trace:
    """Sets of points of growing size with the errors of their best coefficients.

    Parameters
    ----------
    target : Target
        m vectors.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Stage, Target
    >>> from mercer.reduction.trace import Trace
    >>> target = Target(mc.features(mc.Linear(), np.array([[3.0, 4.0]])))
    >>> trace = Trace(target)
    >>> trace.look(Stage(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0]))).round(2)
    array([0.8])
    >>> trace.sizes, trace.history.round(2)
    (array([1]), array([0.8]))
    """

    def __init__(self, target):
        self.target, self.stages, self.residuals = target, [], []
        self._span = Span(target)
        self._latest = None

    def __getstate__(self):
        # the span of the latest set is needed only to go on
        return {"target": self.target, "stages": self.stages, "residuals": self.residuals}

    def __setstate__(self, state):
        self.__dict__ |= state | {"_span": Span(state["target"]), "_latest": None}

    @property
    def sizes(self):
        """Numbers of vectors (h,)."""
        return np.array([len(stage.rows) for stage in self.stages], dtype=np.intp)

    @property
    def history(self):
        """Relative errors (h,) of all columns together."""
        total = self.target.squares.sum()
        left = np.array([np.abs(residuals).sum() for residuals in self.residuals])
        return np.sqrt(left / total) if total > 0 else np.zeros(len(left))

    def reached(self, tol):
        """Return whether the last set has at most some relative error in every column.

        Parameters
        ----------
        tol : float

        Returns
        -------
        bool
        """
        return bool(self.stages) and float(self.target.relative(self.residuals[-1]).max()) <= tol

    def look(self, stage):
        """Take a set to the record, and return its relative error (m,); a set that is no better takes no place.

        Parameters
        ----------
        stage : Stage

        Returns
        -------
        array (m,)
        """
        residuals = self._residuals(stage)
        if self.stages and len(stage.rows) <= len(self.stages[-1].rows):
            if np.abs(residuals).sum() < np.abs(self.residuals[-1]).sum():
                self.stages[-1], self.residuals[-1] = stage, residuals
        else:
            self.stages.append(stage)
            self.residuals.append(residuals)
        return self.target.relative(self.residuals[-1])

    def follow(self, stages, n_vectors, tol, callback=None):
        """Take sets to the record until they are large enough, or good enough, or there are no more.

        Parameters
        ----------
        stages : iterator of Stage
        n_vectors : int
        tol : float
            Relative error asked of every column.
        callback : callable, optional
            ``callback(n_vectors, relative_error)`` after every set; if it returns True the run ends.

        Returns
        -------
        str
            Why the run ended.
        """
        for stage in stages:
            if len(stage.rows) > n_vectors:
                break
            worst = float(self.look(stage).max())
            if callback is not None and callback(len(stage.rows), worst):
                return f"the callback asked for an end at {len(stage.rows)} vectors"
            if worst <= tol:
                return f"tol = {tol:.3g} reached with {len(stage.rows)} vectors"
        if self.stages and len(self.stages[-1].rows) >= n_vectors:
            return f"n_vectors = {n_vectors} reached"
        return "the method found no further vector that lowers the error"

    def answer(self, index):
        """Return the expansion over one of the sets in the type of psi, and its relative error (m,), recomputed.

        Parameters
        ----------
        index : int

        Returns
        -------
        Expansion, array (m,)
        """
        stage, original = self.stages[index], self.target.original
        points = take_points(stage.points, stage.rows)
        dtype = getattr(original.points, "dtype", None)
        if hasattr(points, "astype"):
            points = points.astype(dtype)
        # rounded points have coefficients of their own
        return best(self.target, points)

    def _residuals(self, stage):
        latest = self._latest
        grown = (
            latest is not None
            and latest.points is stage.points
            and len(latest.rows) <= len(stage.rows)
            and np.array_equal(latest.rows, stage.rows[: len(latest.rows)])
        )
        if not grown:
            self._span, latest = Span(self.target), None
        fresh = stage.rows[0 if latest is None else len(latest.rows) :]
        if len(fresh):
            self._span.add(take_points(stage.points, fresh))
        self._latest = stage
        return self._span.residuals()


def best(target, points):
    """Return psi with the best coefficients over given points, in the type of psi, and its relative error.

    Parameters
    ----------
    target : Target
        m vectors.
    points : container of s points
        In the type that the expansion is to have.

    Returns
    -------
    Expansion, array (m,)
        |psi_j - psi'_j| / |psi_j|, recomputed in float64 from the points and coefficients of the expansion.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.reduction.base import Target
    >>> from mercer.reduction.trace import best
    >>> target = Target(mc.features(mc.Linear(), np.array([[3.0, 4.0]])))
    >>> best(target, np.array([[0.0, 2.0]]))
    (Expansion(Linear(), 1 vector over 1 point), array([0.6]))
    """
    span = Span(target)
    wide = points.astype(np.float64) if getattr(points, "dtype", None) == np.float32 else points
    span.add(wide)
    A = span.coefficients()
    coef = target.original.coef
    narrow = getattr(points, "dtype", None) == np.float32 and (coef is None or coef.dtype == np.float32)
    A = A.astype(np.float32 if narrow else np.float64)
    return Expansion(target.kernel, points, A), error(target, wide, A.astype(np.float64))


def error(target, points, coef):
    """Return the relative errors (m,) of expansions with any coefficients.

    |psi - psi'|^2 = |psi|^2 - 2 <psi, psi'> + |psi'|^2, in float64.

    Parameters
    ----------
    target : Target
        m vectors.
    points : container of s points
    coef : array (s, m)

    Returns
    -------
    array (m,)
    """
    values = np.asarray(target.kernel(points), np.float64) @ coef - 2 * target.psi(points)
    return target.relative(target.squares + np.einsum("ij,ij->j", coef, values))
