"""The form in which a composite kernel keeps points: that of its parts if they agree, else that of the user."""

import copy
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer._common import PointsLike
from mercer._compute.objects import Objects, Table
from mercer.kernels.base import Kernel, inner_kernels

# Key of the value of each point that marks a copy.
_COPIED = "copied"


def common_kind(kinds: Iterable[str | None]) -> str | None:
    """Return the kind of points that all kinds of ``Tags.points`` admit, or None."""
    # of several, that of a kernel of any points says nothing
    found = set(kinds) - {"any"} or {"any"}
    if len(found) > 1 and found <= {"rows or objects", "rows", "objects"}:
        found = found - {"rows or objects"}
    return found.pop() if len(found) == 1 else None


def common_form(points: PointsLike, forms: list[Any]) -> PointsLike:
    """Return the form of points that all parts compute with, or the points, which each part then converts itself."""
    first = forms[0]
    if all(form is first or _kind(form) == _kind(first) for form in forms):
        return next((form for form in forms if form is not points), points)
    return _kept(points)


def _kind(points):
    """Return what distinguishes forms of the same points: types, shapes and types of numbers."""
    if isinstance(points, Objects):
        return list(map(_kind, points))
    return type(points), getattr(points, "shape", None), getattr(points, "dtype", None)


def _kept(points):
    """Return a copy of objects, since the user may change them, or the copy that they are; rows as they are."""
    if not isinstance(points, Objects) or _COPIED in points.values:
        return points
    points = copy.deepcopy(points)
    points.values[_COPIED] = np.ones(len(points), bool)
    return points


def common_table(kernel: Kernel, table: Table, name: str) -> Table:
    """Return a table whose columns have the form that the parts of a kernel which read them compute with."""
    forms = [(_columns(part, table), part.admit(table, name).columns) for part in _readers(kernel)]
    columns = [
        common_form(column, [form[j] for read, form in forms if j in read] or [column])
        for j, column in enumerate(table.columns)
    ]
    return table if all(map(operator.is_, columns, table.columns)) else Table(columns, table.names)


def _readers(kernel):
    """Return the kernels of columns, and other kernels of tables, in a composite kernel."""
    parts = inner_kernels(kernel).values()
    if hasattr(kernel, "columns") or not parts:
        return [kernel]
    return [reader for part in parts if part.tags.points != "any" for reader in _readers(part)]


def _columns(kernel, table):
    """Return the positions of the columns that a kernel reads, all if it does not tell."""
    return [table.position(each) for each in getattr(kernel, "columns", ())] or range(
        len(table.columns)
    )
