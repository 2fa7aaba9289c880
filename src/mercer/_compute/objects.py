"""Points that are not rows of numbers, which cannot be changed: Objects, a list, and Table, columns of both."""

import weakref
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import array_api_compat
import numpy as np

from mercer._common import PointsLike, shown
from mercer._compute.readable import computed

_REMEDY = "give a list of points, a NumPy array or a pandas Series"


class Shared:
    """Mixin of points with values computed of them, which points taken from them share.

    Attributes
    ----------
    memo : dict
        Values of the points together.
    values : dict
        Values of each point, see ``Points.per_point``.
    block : tuple of weak reference and rows, or None
        The points that these were taken from, and their places.
    """

    def __init__(
        self, block: tuple | None = None, values: dict[Hashable, object] | None = None
    ) -> None:
        self.memo: dict[Hashable, Any] = {}
        self.values = {} if values is None else values
        self.block = None if block is None else (weakref.ref(block[0]), block[1])


class Objects(Shared, list[Any]):
    """List of points of any kind that cannot be changed.

    Parameters
    ----------
    points : iterable
    block : tuple of Objects and rows, optional
        The list that the points were taken from, and their places in it; not kept alive.
    values : dict, optional
        Values of each point computed before.
    """

    def __init__(
        self,
        points: Iterable = (),
        block: tuple | None = None,
        values: dict[Hashable, object] | None = None,
    ) -> None:
        list.__init__(self, points)
        Shared.__init__(self, block, values)

    def __reduce__(self) -> tuple[Any, ...]:
        # a copy or a pickle holds the points only; computed values are computed again
        return Objects, (list(self),)


def _refuse_change(_self, *_args, **_options):
    raise TypeError(
        "points of a model or an expansion cannot be changed, because values computed of them are kept; change a copy, "
        "list(points)."
    )


for _name in (
    "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort", "__setitem__", "__delitem__", "__iadd__",
    "__imul__",
):  # fmt: skip
    setattr(Objects, _name, _refuse_change)


def as_objects(X: PointsLike, name: str = "X") -> Objects:
    """Return a list, an array along its first axis, or a Series of pandas or polars as ``Objects``."""
    if isinstance(X, Objects):
        return X
    if hasattr(X, "columns"):
        raise TypeError(
            f"{name} is a table with columns, but the kernel takes one object per point; give one column, such as "
            f"{name}['text'], {name}.to_numpy() if each row is one object, or combine kernels by mercer.on_columns."
        )
    if isinstance(X, (str, bytes)):
        raise TypeError(
            f"{name} must be a list of points, got the single {type(X).__name__} {shown(X)}; pass [{name}]."
        )
    if hasattr(X, "tocsr"):
        raise TypeError(
            f"{name} must be a list of objects, got a sparse matrix, whose rows are numbers; {_REMEDY}."
        )
    is_array = array_api_compat.is_array_api_obj(X) and len(X.shape) > 0
    if not (is_array or hasattr(X, "to_list") or isinstance(X, Sequence)):
        raise TypeError(
            f"{name} must be an array or a list of points, got {type(X).__name__}; {_REMEDY}."
        )
    if (
        is_array
        and len(X.shape) == 2
        and X.shape[1] == 1
        and len(X)
        and isinstance(X[0, 0], (str, bytes))
    ):
        raise ValueError(
            f"{name} is an array of one column of strings, shape {X.shape}, whose rows are sequences of one token; "
            f"give {name}[:, 0], or {name}.tolist() if each string is a token."
        )
    points = Objects(X)
    if not points:
        raise ValueError(f"{name} must have at least one point, got an empty {type(X).__name__}.")
    for i, point in enumerate(points):
        # tables have NaN in place of a missing object
        if point is None or isinstance(point, float) and point != point:
            raise ValueError(f"{name}[{i}] is {point}; remove or replace missing points first.")
    return points


def holds_rows(X: PointsLike) -> bool:
    """Return whether X is a table, a sparse matrix, or an array of numbers of at most two dimensions."""
    if hasattr(X, "tocsr") or hasattr(X, "columns"):
        return True
    if not array_api_compat.is_array_api_obj(X):
        return False
    return len(X.shape) <= 2 and getattr(X.dtype, "kind", "f") in "fiubc"


def plain(points: PointsLike) -> PointsLike:
    """Return points as a function of the user gets them: a list of objects, any other container as it is."""
    return list(points) if isinstance(points, Objects) else points


def type_name(points: PointsLike) -> str:
    """Return the name of the type of a container in errors."""
    return type(plain(points)).__name__


class Table(Shared):
    """Points with several columns, each an array of numbers or ``Objects``.

    Parameters
    ----------
    columns : list of arrays (n,) and Objects (n)
    names : list, optional
        Names of the columns.
    """

    def __init__(self, columns, names=None, block=None):
        super().__init__(block)
        self.columns = columns
        self.names = names

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, i):
        """Return the values of point i."""
        return tuple(column[i] for column in self.columns)

    def __repr__(self):
        return f"Table({len(self)} points, columns={self.names or len(self.columns)})"

    def __reduce__(self):
        # a copy or a pickle holds the columns only; computed values are computed again
        return Table, (self.columns, self.names)

    def label(self, j):
        """Return the name of column j as errors show it, its position if it has none."""
        return shown(self.names[j] if self.names else j)

    def position(self, column):
        """Return the position of a column given by its name or position, or raise a ValueError."""
        found = [j for j, name in enumerate(self.names or ()) if name == column]
        if len(found) > 1:
            raise ValueError(
                f"column {shown(column)} is the name of the columns at {found}; give one of them another name."
            )
        if found:
            return found[0]
        d = len(self.columns)
        # True and False are integers to Python, but a mask does not state positions
        is_position = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
        if is_position and -d <= column < d:
            return int(column) % d
        known = f"its columns are {self.names}" if self.names else "it has no names"
        raise ValueError(f"column {shown(column)} is not in the table of {d} columns; {known}.")


def as_table(X, name="X"):
    """Return a table with columns, an array (n, d) or a list of rows as a ``Table``; errors show ``name``."""
    if isinstance(X, Table):
        return X
    X = computed(X, name)
    if hasattr(X, "columns"):
        # of pyarrow ``columns`` are the values
        names = list(getattr(X, "column_names", X.columns))
        columns = [X.iloc[:, j] if hasattr(X, "iloc") else X[each] for j, each in enumerate(names)]
        columns = [column.to_numpy() for column in columns]
    elif np.ma.is_masked(X):
        raise TypeError(
            f"{name} must not be a masked array; fill or drop its {int(X.mask.sum())} masked entries first."
        )
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        names = None
        columns = list(X.T)
    elif isinstance(X, (list, tuple)) and X and all(isinstance(row, (list, tuple)) for row in X):
        if len({len(row) for row in X}) > 1:
            raise ValueError(f"{name} must have rows of one length, one value for each column.")
        names = None
        columns = list(map(Objects, zip(*X, strict=True)))
    else:
        raise TypeError(
            f"{name} must be a table (a pandas DataFrame, an array (n, d) or a list of rows), got {type(X).__name__}."
        )
    if not columns or not len(columns[0]):
        raise ValueError(
            f"{name} must have at least one row and one column, got shape {np.shape(X)[:2]}."
        )
    return Table([_column(column) for column in columns], names)


def _column(values):
    """Return a copy of a column of numbers in float64, and other values as objects."""
    is_number = getattr(getattr(values, "dtype", None), "kind", "O") in "fiub"
    return np.array(values, np.float64) if is_number else Objects(values)
