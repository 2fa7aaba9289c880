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
