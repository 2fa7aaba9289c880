"""Displays of the plane: values of a fitted model over it, and the steps from starting points to pre-images in it."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._common import Array, ArrayLike, as_float64
from mercer._compute.points import dense
from mercer.expansion import Expansion, rows_of
from mercer.plot import axes
from mercer.preimages import preimage

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
        region: axes.Region | None = None,
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
        points = axes.plane("X", X)
        y = None if y is None else axes.labels(y, len(points))
        first, second, grid = axes.lattice(axes.box(points) if region is None else region, n_grid)
        grid = axes.named_as(X, grid)
        classes = getattr(estimator, "classes_", ())
        multiclass = len(classes) > 2
        if not multiclass:
            axes.require_method(estimator, "decision_function", "a fitted SVC, OneClassSVM or SVDD")
        values = (
            np.searchsorted(classes, estimator.predict(grid))
            if multiclass
            else estimator.decision_function(grid)
        )
        values = as_float64(values).reshape(n_grid, n_grid)
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
        ax = axes.one(ax, (4.8, 4.0))
        values = np.asarray(self.values)
        if self.multiclass:
            levels = np.arange(values.max() + 2) - 0.5
            lines = levels
            options = {"cmap": cmap or "cividis", "alpha": 0.5}
        else:
            levels = axes.levels(values)
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
        self.vectors_: Any = axes.markers(
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
    return dense(rows_of(psi))


@dataclass(eq=False, repr=False)
class KernelPCAContoursDisplay:
    """Contours of the scores of kernel principal components over the plane.

    Parameters
    ----------
    x, y : array (n_x,), (n_y,)
        Coordinates of the grid.
    scores : array (n_components, n_y, n_x)
        Scores <phi(x) - mu, u_k> on the grid.
    points : array (n, 2), optional
        Points to draw over the contours.
    titles : sequence of str, optional
        One per component. Default: "1", "2", ...

    Attributes
    ----------
    axes_ : array of Axes (rows, columns)
    contours_ : list of QuadContourSet
        One per component.
    figure_ : Figure

    See Also
    --------
    KernelPCAContoursDisplay.from_estimator : Evaluate a fitted KernelPCA and draw.

    References
    ----------
    Schoelkopf, Smola, Mueller, *Nonlinear component analysis as a kernel eigenvalue problem*, Neural Computation
    10 (1998), figure 4.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.plot import KernelPCAContoursDisplay
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> pca = mc.KernelPCA(4, kernel=mc.Gaussian(1.0)).fit(X)
    >>> display = KernelPCAContoursDisplay.from_estimator(pca, X, n_grid=20)
    >>> display.scores.shape, len(display.contours_)
    ((4, 20, 20), 4)
    """

    x: ArrayLike
    y: ArrayLike
    scores: Array
    _: KW_ONLY
    points: ArrayLike | None = None
    titles: ArrayLike | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: ArrayLike,
        *,
        region: axes.Region | None = None,
        n_grid: int = 80,
        titles: ArrayLike | None = None,
        ax: object = None,
        n_columns: int = 4,
    ) -> Self:
        """Evaluate a fitted KernelPCA of two features on a grid, and draw.

        Parameters
        ----------
        estimator : KernelPCA
            Fitted; any estimator whose ``transform`` takes rows of two numbers.
        X : array (n, 2)
            Points to draw over the contours.
        region : (x_min, x_max, y_min, y_max), optional
            Default: the bounding box of the points, extended by a tenth on every side.
        n_grid : int
            Grid points on each axis; the cost is n_grid^2 evaluations.
        titles, ax, n_columns
            As in the class and in `plot`.

        Returns
        -------
        KernelPCAContoursDisplay

        Raises
        ------
        ValueError
            Unless X has two columns.
        TypeError
            For an estimator without the method that is drawn.
        """
        axes.require_method(estimator, "transform", "a fitted KernelPCA")
        points = axes.plane("X", X)
        x, y, grid = axes.lattice(axes.box(points) if region is None else region, n_grid)
        scores = np.asarray(estimator.transform(axes.named_as(X, grid)))
        blocks = scores.T.reshape(-1, n_grid, n_grid)
        return cls(x, y, blocks, points=points, titles=titles).plot(ax, n_columns=n_columns)

    def plot(self, ax: object = None, *, n_columns: int = 4, cmap: object = "RdBu_r") -> Self:
        """Draw one panel per component, each with its own colour scale, symmetric about 0.

        Parameters
        ----------
        ax : Axes or array of Axes, optional
            One axes, which is divided into panels, or an array with one axes per component. Default: a new figure.
        n_columns : int
            Panels in a row.
        cmap : str or Colormap
            Diverging.

        Returns
        -------
        self
        """
        n = len(self.scores)
        columns = min(n_columns, n)
        self.axes_: Array = axes.grid(ax, -(-n // columns), columns, (1.8, 1.7))
        panels = self.axes_.ravel()
        titles = [str(k + 1) for k in range(n)] if self.titles is None else self.titles
        self.contours_: list[Any] = [
            self._panel(panel, values, title, cmap)
            for panel, values, title in zip(panels, self.scores, titles, strict=False)
        ]
        for panel in panels[n:]:
            panel.set_axis_off()
        self.figure_: Any = panels[0].figure
        return self

    def _panel(self, ax, values, title, cmap):
        contours = ax.contourf(self.x, self.y, values, levels=axes.levels(values), cmap=cmap)
        ax.contour(self.x, self.y, values, levels=[0.0], colors="0.35", linewidths=0.8)
        axes.dots(ax, self.points)
        ax.set(aspect="equal", xticks=[], yticks=[], title=title)
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(self.y[0], self.y[-1]))
        return contours


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
        start = axes.plane("start", start)
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
        axes.require_method(estimator, "reconstruct", "a fitted KernelPCA")
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
        ax = axes.one(ax, (4.4, 4.2))
        axes.markers(ax, self.points, ".", color="0.7", markersize=4, zorder=0)
        self.lines_: list[Any] = ax.plot(
            *np.moveaxis(self.paths, 2, 0),
            "-",
            marker=".",
            markersize=3,
            linewidth=1.0,
            color=color,
        )
        self.ends_: Any = axes.markers(ax, self.paths[-1], "o", markersize=5, color="black")
        ax.set_aspect("equal")
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self
