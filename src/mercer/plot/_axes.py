"""Where a display draws: new axes, the place of one, or the ones given."""

import numpy as np


def require():
    """Raise unless matplotlib can be imported.

    Raises
    ------
    ModuleNotFoundError
        With the command that installs it.
    """
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'drawing needs matplotlib, which is not installed; say: pip install "mercer[plot]"', name="matplotlib"
        ) from error


def grid(ax, rows, columns, panel):
    """Return axes for panels in rows and columns.

    Parameters
    ----------
    ax : Axes, array of Axes or None
        None makes a figure; one axes is a frame, divided and switched off; an array has one axes per panel.
    rows, columns : int
    panel : (float, float)
        Width and height of a panel of a new figure, in inches.

    Returns
    -------
    array of Axes (rows, columns)

    Raises
    ------
    ValueError
        For an array of too few axes.
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
                f"ax has {len(axes)} axes, and {rows * columns} panels are to be drawn; give one for each."
            )
        return axes[: rows * columns].reshape(rows, columns)
    ax.set_axis_off()
    return ax.get_subplotspec().subgridspec(rows, columns).subplots(squeeze=False)


def one(ax, size):
    """Return the axes given, or those of a new figure.

    Parameters
    ----------
    ax : Axes or None
    size : (float, float)
        Width and height of a new figure, in inches.

    Returns
    -------
    Axes
    """
    require()
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def lattice(region, n_grid):
    """Return a regular grid over a region of the plane.

    Parameters
    ----------
    region : (x_min, x_max, y_min, y_max)
    n_grid : int
        Points on each axis.

    Returns
    -------
    x, y : array (n_grid,)
    points : array (n_grid^2, 2)
        x runs first, so that values reshaped to (n_grid, n_grid) have rows that go with y.
    """
    left, right, bottom, top = region
    x, y = np.linspace(left, right, n_grid), np.linspace(bottom, top, n_grid)
    return x, y, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
