"""KernelPCAContoursDisplay: contours of the scores of kernel principal components over the plane."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from mercer._common import Array, ArrayLike
from mercer.plot import _axes


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
        region: _axes.Region | None = None,
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
        _axes.require_method(estimator, "transform", "a fitted KernelPCA")
        points = _axes.plane("X", X)
        x, y, grid = _axes.lattice(_axes.box(points) if region is None else region, n_grid)
        scores = np.asarray(estimator.transform(_axes.named_as(X, grid)))
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
        self.axes_: Array = _axes.grid(ax, -(-n // columns), columns, (1.8, 1.7))
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
        contours = ax.contourf(self.x, self.y, values, levels=_axes.levels(values), cmap=cmap)
        ax.contour(self.x, self.y, values, levels=[0.0], colors="0.35", linewidths=0.8)
        _axes.dots(ax, self.points)
        ax.set(aspect="equal", xticks=[], yticks=[], title=title)
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(self.y[0], self.y[-1]))
        return contours
