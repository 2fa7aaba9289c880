"""Table, points with columns of numbers and of other objects, and what becomes a table."""

import numpy as np

from mercer._common import shown
from mercer._compute.lazy import computed
from mercer._compute.objects import Objects, Shared


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
