"""DecisionBoundaryDisplay: decision values over the plane, with the vectors of the model."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from mercer._common import ArrayLike
from mercer._compute.points import dense
from mercer.kernels.marked import without_marks
from mercer.plot import _axes

_MARKERS = "o^sDvP*X"


@dataclass(eq=False, repr=False)
class DecisionBoundaryDisplay:
    """Decision values of a classifier or a detector over the plane, with its support or reduced vectors.

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
        Coordinates of the grid.
    values : array (n_y, n_x)
        Decision values; with ``multiclass`` indices of classes.
    vectors : array (m, 2), optional
        Vectors of the model, drawn as rings.
    points : array (n, 2), optional
    labels : array (n,), optional
        Classes of the points; each class has its own marker and colour.
    multiclass : bool
    margins : bool
        Draw dashed lines at the decision values -1 and 1.

    Attributes
    ----------
    ax_ : Axes
    surface_ : QuadContourSet
    boundary_ : QuadContourSet or None
        Lines at the decision values 0 and, with ``margins``, -1 and 1, or between the regions of classes; None where
        the region contains none of them.
    vectors_ : Line2D or None
    figure_ : Figure

    See Also
    --------
    DecisionBoundaryDisplay.from_estimator : Evaluate a fitted model, and draw.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import DecisionBoundaryDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> svc = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> small = mc.compress(svc, n_vectors=8)
    >>> display = DecisionBoundaryDisplay.from_estimator(small, X, n_grid=20)
    >>> display.values.shape, len(display.vectors)
    ((20, 20), 8)
    """

    x: ArrayLike
    y: ArrayLike
    values: ArrayLike
    _: KW_ONLY
    vectors: ArrayLike | None = None
    points: ArrayLike | None = None
    labels: ArrayLike | None = None
    multiclass: bool = False
    margins: bool = True

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        region: _axes.Region | None = None,
        n_grid: int = 100,
        ax: object = None,
    ) -> Self:
        """Evaluate a fitted model of two features on a grid, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``decision_function``, or with ``predict`` for more than two classes: SVC, OneClassSVM, SVDD, a
            model of `mercer.compress`. The points of its ``expansion_`` are its vectors, but for a `TableClassifier`,
            whose points are not in the plane.
        X : array (n, 2)
            Points to draw.
        y : array (n,), optional
            Classes of the points.
        region : (x_min, x_max, y_min, y_max), optional
            Default: the bounding box of the points, extended by a tenth on every side.
        n_grid : int
            Grid points on each axis; the cost is n_grid^2 predictions.
        ax : Axes, optional
            As in `plot`.

        Returns
        -------
        DecisionBoundaryDisplay

        Raises
        ------
        ValueError
            Unless X has two columns.
        TypeError
            For an estimator without the method that is drawn.
        """
        points = _axes.plane("X", X)
        y = None if y is None else _axes.labels(y, len(points))
        first, second, grid = _axes.lattice(_axes.box(points) if region is None else region, n_grid)
        grid = _axes.named_as(X, grid)
        classes = getattr(estimator, "classes_", ())
        multiclass = len(classes) > 2
        if not multiclass:
            _axes.require_method(
                estimator, "decision_function", "a fitted SVC, OneClassSVM or SVDD"
            )
        values = (
            np.searchsorted(classes, estimator.predict(grid))
            if multiclass
            else estimator.decision_function(grid)
        )
        values = np.asarray(values, np.float64).reshape(n_grid, n_grid)
        return cls(
            first,
            second,
            values,
            vectors=_vectors(estimator),
            points=points,
            labels=y,
            multiclass=multiclass,
            margins=len(classes) > 0,
        ).plot(ax)

    def plot(self, ax: object = None, *, cmap: object = None) -> Self:
        """Draw decision values, boundary, points and vectors.

        Parameters
        ----------
        ax : Axes, optional
            Default: a new figure.
        cmap : str or Colormap, optional
            Default: PuOr_r for decision values, cividis for regions of classes.

        Returns
        -------
        self
        """
        ax = _axes.one(ax, (4.8, 4.0))
        values = np.asarray(self.values)
        if self.multiclass:
            levels = np.arange(values.max() + 2) - 0.5
            lines = levels
            options = {"cmap": cmap or "cividis", "alpha": 0.5}
        else:
            levels = _axes.levels(values)
            lines = np.array([-1.0, 0.0, 1.0] if self.margins else [0.0])
            options = {"cmap": cmap or "PuOr_r", "alpha": 0.6}
        self.surface_: Any = ax.contourf(self.x, self.y, values, levels, **options)
        lines = lines[(lines >= values.min()) & (lines <= values.max())]
        styles = ["--" if abs(line) == 1 and not self.multiclass else "-" for line in lines]
        self.boundary_: Any = None
        if len(lines):
            self.boundary_ = ax.contour(
                self.x, self.y, values, lines, colors="black", linestyles=styles, linewidths=1.0
            )
        if self.points is not None:
            self._draw_points(ax)
        self.vectors_: Any = _axes.markers(
            ax, self.vectors, "o", markersize=9, color="black", markerfacecolor="none"
        )
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(self.y[0], self.y[-1]))
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self

    def _draw_points(self, ax):
        """Draw the points, each class with its own marker."""
        labels = np.full(len(self.points), "") if self.labels is None else np.asarray(self.labels)
        for k, label in enumerate(np.unique(labels)):
            ax.plot(
                *self.points[labels == label].T,
                _MARKERS[k % len(_MARKERS)],
                markersize=4,
                color=f"C{k}",
                markeredgecolor="white",
                markeredgewidth=0.5,
                label=str(label) or None,
            )


def _vectors(estimator):
    """Return the vectors of a model as points of the plane, or None."""
    psi = getattr(estimator, "expansion_", None)
    # those of tables are encoded rows
    if psi is None or hasattr(estimator, "encode"):
        return None
    return dense(without_marks(psi.kernel, psi.points))
