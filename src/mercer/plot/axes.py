"""Axes of a display: new ones, a grid in place of one, or those given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mercer._common import Array, ArrayLike, PointsLike
from mercer._compute.points import as_dense_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of the plane: x_min, x_max, y_min, y_max.
Region: TypeAlias = tuple[float, float, float, float]


def require() -> None:
    """Raise a ModuleNotFoundError with the command that installs matplotlib unless it can be imported."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'drawing needs matplotlib, which is not installed; run pip install "mercer[plot]"',
            name="matplotlib",
        ) from error


def grid(ax: object, rows: int, columns: int, panel: tuple[float, float]) -> Array:
    """Return an array of axes (rows, columns): of a new figure (None), inside one axes, or from an array of axes.

    ``panel`` is the width and height of a panel of a new figure, in inches.
    """
    require()
    if ax is None:
        from matplotlib import pyplot

        size = (columns * panel[0], rows * panel[1])
        return pyplot.subplots(rows, columns, squeeze=False, figsize=size, layout="constrained")[1]
    if not hasattr(ax, "get_subplotspec"):
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) < rows * columns:
            raise ValueError(
                f"ax has {len(axes)} axes, but the display has {rows * columns} panels; give one axes for each."
            )
        return axes[: rows * columns].reshape(rows, columns)
    ax.set_axis_off()
    return ax.get_subplotspec().subgridspec(rows, columns).subplots(squeeze=False)


def one(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the given axes, or the axes of a new figure of the given size in inches."""
    return grid(None, 1, 1, size)[0, 0] if ax is None else ax


def lattice(region: Region, n_grid: int) -> tuple[Array, Array, Array]:
    """Return x, y (n_grid,) and the points (n_grid^2, 2) of a grid over (x_min, x_max, y_min, y_max).

    x runs first, so that values reshaped to (n_grid, n_grid) have one row for each y.
    """
    if np.shape(region) != (4,):
        raise ValueError(
            f"region has shape {np.shape(region)}; it must be (x_min, x_max, y_min, y_max)."
        )
    left, right, bottom, top = region
    x = np.linspace(left, right, n_grid)
    y = np.linspace(bottom, top, n_grid)
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def plane(name: str, X: PointsLike) -> Array:
    """Return points of the plane as a finite array (n, 2), or raise a ValueError."""
    X = np.asarray(as_dense_rows(X, name))
    if X.shape[1] != 2:
        raise ValueError(f"{name} has shape {X.shape}; it must be (n, 2), points of the plane.")
    return X


def named_as(X: ArrayLike, points: Array) -> ArrayLike:
    """Return points as a table with the names of the columns of X, where X is a table of pandas."""
    return type(X)(points, columns=X.columns) if hasattr(X, "iloc") else points


def markers(ax: Axes, points: ArrayLike | None, marker: str, **style: Any) -> Any:
    """Draw points of the plane, if there are any, and return their artist, or None."""
    if points is None:
        return None
    return ax.plot(*np.asarray(points).T, marker, linestyle="none", **style)[0]


def dots(ax: Axes, points: ArrayLike | None) -> None:
    """Draw points of the plane, if there are any, as small black dots."""
    markers(ax, points, ".", color="black", markersize=2)


def levels(values: Array) -> Array:
    """Return the levels of contours of values, symmetric about 0; they increase also where all values are 0."""
    reach = max(np.abs(values).max(), np.finfo(float).tiny)
    return np.linspace(-reach, reach, 16)


def labels(y: ArrayLike, n: int) -> Array:
    """Return labels as an array (n,), or raise a ValueError unless there is one for each of n points."""
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}; it must be ({n},), one label for each point.")
    return y


def require_method(estimator: object, name: str, remedy: str) -> None:
    """Raise a TypeError unless an estimator has a method that a display calls."""
    if not hasattr(estimator, name):
        raise TypeError(f"{type(estimator).__name__} has no {name}; give {remedy}.")


def box(X: Array) -> Region:
    """Return the bounding box (x_min, x_max, y_min, y_max), extended by a tenth on every side.

    A column of equal values is extended by a tenth of them, at least 0.1, so that the box has an area.
    """
    low = X.min(axis=0)
    high = X.max(axis=0)
    margin = 0.1 * np.where(high > low, high - low, np.maximum(np.abs(low), 1.0))
    return tuple(np.stack([low - margin, high + margin], axis=1).ravel().tolist())
