"""OnColumns, a kernel of some columns of a table, and ``on_columns``, which makes it."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from mercer._common import ArrayLike, PointsLike, shown
from mercer._compute.objects import Objects, Table, as_table
from mercer._compute.points import Points
from mercer._compute.readable import refuse_unreadable
from mercer.kernels.base import Kernel, require_kernel, storable_kernel
from mercer.kernels.mapped import Image


@storable_kernel
class OnColumns(Image):
    """Kernel of some columns of a table; ``mercer.on_columns`` makes it.

    Parameters
    ----------
    kernel : Kernel
        On rows of numbers or on objects.
    columns : tuple of str and int
        Names or positions.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> mc.OnColumns(mc.Linear(), (1,))(np.array([[5.0, 2.0], [7.0, 3.0]]))
    array([[4., 6.],
           [6., 9.]])
    """

    _most_order = 2
    _tagged = {"points": "tables", "sparse": False, "differentiable": False, "nonnegative": False}

    columns: tuple[Any, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.columns, tuple) or not self.columns:
            raise TypeError(
                f"columns must be a tuple of names or positions, at least one, got {shown(self.columns)}."
            )
        if self.kernel.tags.points in ("indices", "tables"):
            raise ValueError(
                f"kernel must take rows or objects, which {shown(self.kernel)} does not."
            )

    def admit(self, points: PointsLike, name: str) -> PointsLike:
        table = as_table(points, name)
        key = self, "admitted"
        if key not in table.memo:
            table.memo[key] = self._admitted_table(table, name)
        return table.memo[key]

    def _admitted_table(self, table, name):
        """Return the table, with a single column of objects in the form that the kernel computes with."""
        positions = [table.position(column) for column in self.columns]
        columns = self.columns[0] if len(self.columns) == 1 else list(self.columns)
        image = Points(table).per_point(
            self, lambda block: self._admitted(block, f"{name}[{shown(columns)}]")
        )
        if (
            len(positions) > 1
            or not isinstance(image, Objects)
            or image is table.columns[positions[0]]
        ):
            return table
        admitted = [
            image if j == positions[0] else column for j, column in enumerate(table.columns)
        ]
        return Table(admitted, table.names)

    def _image(self, points):
        """Return the columns as rows of numbers, or for a kernel of objects as objects, tuples for several columns."""
        columns = [points.columns[points.position(column)] for column in self.columns]
        kind = self.kernel.tags.points
        numbers = all(isinstance(column, np.ndarray) for column in columns)
        if kind == "rows" or (kind != "objects" and numbers):
            return np.stack(
                [
                    _numbers(column, name)
                    for column, name in zip(columns, self.columns, strict=True)
                ],
                axis=1,
            )
        if len(columns) > 1:
            return Objects(zip(*columns, strict=True))
        return columns[0] if isinstance(columns[0], Objects) else Objects(columns[0])


def on_columns(kernel: Kernel, columns: str | int | ArrayLike) -> Kernel:
    """Return a kernel of some columns of a table.

    Sums and products of such kernels combine columns of text, numbers and other objects in one estimator, on a pandas
    DataFrame, an array (n, d) or a list of rows.

    Parameters
    ----------
    kernel : Kernel
        A kernel on rows of numbers gets the columns as rows; a kernel on objects gets the values of one column, or
        tuples of the values of several.
    columns : str, int, or list of str and int
        Names or positions.

    Returns
    -------
    OnColumns

    Examples
    --------
    >>> import mercer as mc
    >>> kernel = mc.on_columns(mc.strings.Spectrum(2), 0) + mc.on_columns(mc.Linear(), [1, 2])
    >>> kernel([["abab", 1.0, 2.0], ["ab", 3.0, 0.0]])
    array([[10.,  5.],
           [ 5., 10.]])
    """
    require_kernel(kernel)
    single = isinstance(columns, (str, Integral))
    if not (single or isinstance(columns, Iterable)):
        raise TypeError(
            f"columns = {shown(columns)} must be a name, a position, or a list of names and positions."
        )
    return OnColumns(kernel, (columns,) if single else tuple(columns))


def _numbers(column, name):
    """Return a column as numbers (n,), or raise an error that names it."""
    refuse_unreadable(column, f"column {shown(name)}")
    return np.array(column, np.float64)
