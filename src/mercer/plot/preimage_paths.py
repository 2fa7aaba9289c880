"""PreImagePathsDisplay: the steps from starting points to pre-images in the plane."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._common import ArrayLike
from mercer.expansion import Expansion, rows_of
from mercer.plot import _axes
from mercer.preimages import preimage


@dataclass(eq=False, repr=False)
class PreImagePathsDisplay:
    """Paths of an iterative pre-image method from its starting points to the points found, in the plane.

    Parameters
    ----------
    paths : array (n_steps, m, 2)
        Points of the m searches: the starts first, the points found last.
    points : array (n, 2), optional
        Points to draw behind the paths.

    Attributes
    ----------
    ax_ : Axes
    lines_ : list of Line2D
        One for each search.
    ends_ : Line2D
        The points found.
    figure_ : Figure

    See Also
    --------
    PreImagePathsDisplay.from_expansion : Search the pre-images of a block of vectors, and draw.
    PreImagePathsDisplay.from_estimator : Denoise points with a fitted KernelPCA, and draw.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import PreImagePathsDisplay
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> psi = mc.mean(mc.features(mc.Gaussian(0.5), X))
    >>> display = PreImagePathsDisplay.from_expansion(psi, X[:1])
    >>> bool(np.allclose(display.paths[-1], mc.preimage(psi, start=X[:1]).points))
    True
    """

    paths: ArrayLike
    _: KW_ONLY
    points: ArrayLike | None = None

    @classmethod
    def from_expansion(
        cls,
        psi: Expansion,
        start: ArrayLike,
        method: object = "auto",
        *,
        points: ArrayLike | None = None,
        n_steps: int = 20,
        ax: object = None,
    ) -> Self:
        """Search the pre-images of a block of vectors, and draw the steps.

        Parameters
        ----------
        psi : Expansion
            m vectors over points of the plane.
        start : array (m, 2)
        method : str or Method
            An iterative method, ``FixedPoint`` or ``Gradient``, as in `mercer.preimage`.
        points : array (n, 2), optional
            Points to draw. Default: the points of psi.
        n_steps : int
            Number of first iterations that are shown; the last step leads to the points found.
        ax : Axes, optional
            As in `plot`.

        Returns
        -------
        PreImagePathsDisplay

        Raises
        ------
        ValueError
            Unless the points have two columns.
        TypeError
            If the method has no iterations.
        """
        start = _axes.plane("start", start)
        found = preimage(psi, method, start)
        if not hasattr(found.method, "max_iter"):
            raise TypeError(
                f"method = {type(found.method).__name__} has no iterations; use method='fixed_point' or 'gradient'."
            )
        steps = [
            preimage(psi, replace(found.method, max_iter=t), start).points
            for t in range(1, n_steps + 1)
        ]
        points = rows_of(psi) if points is None else points
        return cls(np.stack([start, *steps, found.points]), points=points).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: ArrayLike,
        *,
        points: ArrayLike | None = None,
        n_steps: int = 20,
        ax: object = None,
    ) -> Self:
        """Denoise points of the plane with a fitted KernelPCA, and draw the steps of the search.

        Parameters
        ----------
        estimator : KernelPCA
        X : array (m, 2)
            Noisy points, the starts of the search.
        points, n_steps, ax
            As in `from_expansion`.

        Returns
        -------
        PreImagePathsDisplay

        Raises
        ------
        TypeError
            For an estimator without ``reconstruct``.
        """
        _axes.require_method(estimator, "reconstruct", "a fitted KernelPCA")
        psi = estimator.reconstruct(estimator.transform(X))
        return cls.from_expansion(psi, X, estimator.preimage, points=points, n_steps=n_steps, ax=ax)

    def plot(self, ax: object = None, *, color: object = "C0") -> Self:
        """Draw the points, one line for each search, and the points found.

        Parameters
        ----------
        ax : Axes, optional
            Default: a new figure.
        color : color
            Of the paths.

        Returns
        -------
        self
        """
        ax = _axes.one(ax, (4.4, 4.2))
        _axes.markers(ax, self.points, ".", color="0.7", markersize=4, zorder=0)
        self.lines_: list[Any] = [
            ax.plot(*path.T, "-", marker=".", markersize=3, linewidth=1.0, color=color)[0]
            for path in np.swapaxes(self.paths, 0, 1)
        ]
        self.ends_: Any = _axes.markers(ax, self.paths[-1], "o", markersize=5, color="black")
        ax.set_aspect("equal")
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self
