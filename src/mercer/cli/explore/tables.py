"""Tables of the page: built-in data sets and uploaded CSV files. The page shows the source of the first functions."""

import base64
import binascii
import functools
import hashlib
import inspect
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from mercer._common import array_record
from mercer._compute.memory import human_bytes
from mercer.cli.failure import Failure
from mercer.cli.tables import read_table

# Limits of an uploaded file; the views answer within seconds up to here.
BYTES = 2_000_000
ROWS = 2_000
COLUMNS = 200
CLASSES = 20
# Least number of rows of a class, for three folds.
PER_CLASS = 3
PRINCIPAL = "principal"
# Decimal logarithm of the gamma that the page proposes where 1 does not suit the scale of a table.
EXPONENTS = {"digits": -0.7}


def moons():
    """Return 500 points of two half circles with noise."""
    from sklearn.datasets import make_moons

    return make_moons(500, noise=0.25, random_state=0)


def circles():
    """Return 500 points of two concentric circles with noise."""
    from sklearn.datasets import make_circles

    return make_circles(500, noise=0.12, factor=0.5, random_state=0)


def clusters():
    """Return 500 points of three clusters that overlap."""
    from sklearn.datasets import make_blobs

    return make_blobs(500, centers=[[-1, -0.5], [0, 1], [1, -0.5]], cluster_std=0.5, random_state=0)


def checkerboard():
    """Return 500 points of a checkerboard of four by four fields."""
    X = np.random.default_rng(0).uniform(-2, 2, (500, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


def iris():
    """Return the 150 flowers of three species."""
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def wine():
    """Return the chemical analyses of 178 wines of three cultivars."""
    from sklearn.datasets import load_wine

    return load_wine(return_X_y=True)


def digits():
    """Return the first 500 of scikit-learn's images of digits, with pixels in [0, 1]."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]


def from_csv(path, header):
    """Return the features of a CSV file after ``header`` lines, and the labels, which are its last column."""
    import csv
    import re

    with open(path, encoding="utf-8-sig") as file:
        lines = [line for line in file.read().splitlines() if line.strip()][header:]
    rows = [next(csv.reader([line], skipinitialspace=True)) for line in lines]
    X = np.array([row[:-1] for row in rows], dtype=float)
    y = np.array([row[-1].strip() for row in rows])
    if set(y) <= {"True", "False"}:
        return X, y == "True"
    # "01" and "1.5" are names
    for kind, form in {int: r"-?(0|[1-9]\d*)", float: r"-?(0|[1-9]\d*)(\.0*)?"}.items():
        if all(re.fullmatch(form, each, re.ASCII) for each in y):
            return X, y.astype(kind)
    return X, y


BUILT_IN = {
    each.__name__: each for each in (moons, circles, clusters, checkerboard, iris, wine, digits)
}
_SCALED = ("iris", "wine")


class Plane(NamedTuple):
    """Column numbers (2,) or directions (2, d) that map rows to a plane, and the code of the map and of the points."""

    A: np.ndarray
    code: str
    points: str


@array_record
class Table:
    """Features X (n, d) and labels y (n,) of a name, and ``code`` that computes both; ``scaler``, if any, made X."""

    name: str
    X: np.ndarray
    y: np.ndarray
    code: str
    scaler: Any = None

    def planes(self) -> dict[str, str]:
        """Return the planes in which the table can be drawn, by key, with their names."""
        d = self.X.shape[1]
        if d == 2:
            return {"0,1": "columns 1 and 2"}
        named = {PRINCIPAL: "first two principal components"}
        pairs = list(combinations(range(d), 2))
        # a longer list would not help
        return named | {
            f"{i},{j}": f"columns {i + 1} and {j + 1}" for i, j in pairs if len(pairs) <= 100
        }

    def plane(self, key: str) -> Plane | None:
        """Return the Plane of a key, None where the rows are its points."""
        if self.X.shape[1] == 2:
            return None
        if key == PRINCIPAL:
            code = "from sklearn.decomposition import PCA\n\nplane = PCA(2).fit(X).components_\n"
            return Plane(self._principal, code, "X @ plane.T")
        columns = [int(each) for each in key.split(",")]
        return Plane(np.array(columns), f"plane = np.array({columns})\n", "X[:, plane]")

    @functools.cached_property
    def _principal(self):
        """The first two principal directions (2, d), which numbers, figure and code of a view ask for in turn."""
        return PCA(2).fit(self.X).components_


@functools.cache
def built_in(name: str) -> Table:
    """Return a built-in Table."""
    X, y = BUILT_IN[name]()
    return _table(
        name, X, y, f"{inspect.getsource(BUILT_IN[name])}\n\nX, y = {name}()\n", name in _SCALED
    )


def uploaded(contents: str, name: str) -> tuple[str, Table]:
    """Return the key and the Table of an uploaded CSV file, given as a data URL; a Failure says what is wrong."""
    data = _decoded(contents)
    if len(data) > BYTES:
        raise Failure(
            f"the file has {human_bytes(len(data))}; the limit is {human_bytes(BYTES)}; upload fewer rows."
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(data)
        try:
            found = read_table(path, 0, at_least=True)
        except Failure as failure:
            raise Failure(str(failure).replace(str(path), "the file")) from None
        n, d = found.X.shape
        if n > ROWS or not 2 <= d <= COLUMNS:
            raise Failure(
                f"the table has {n} rows and {d} columns of features; at most {ROWS} rows and 2 to {COLUMNS} columns "
                "are possible; upload a part of it."
            )
        _require_classes(found.y)
        _, y = from_csv(path, found.names)
    code = f"{inspect.getsource(from_csv)}\n\nX, y = from_csv({name!r}, header={found.names})\n"
    return f"csv-{hashlib.sha256(data).hexdigest()[:16]}", _table(
        name, found.X, y, code, scaled=True
    )


def _decoded(contents):
    try:
        return base64.b64decode(contents.partition(";base64,")[2], validate=True)
    except binascii.Error:
        raise Failure("the upload is damaged; upload the file again.") from None


def _require_classes(y):
    labels, counts = np.unique(y, return_counts=True)
    if not 2 <= len(labels) <= CLASSES:
        raise Failure(
            f"the last column has {len(labels)} different values; it must hold the labels of 2 to {CLASSES} classes."
        )
    if counts.min() < PER_CLASS:
        raise Failure(
            f"the label {str(labels[counts.argmin()])[:40]!r} has {counts.min()} rows; every label needs at least "
            f"{PER_CLASS}."
        )


def _table(name, X, y, code, scaled):
    if not scaled:
        return Table(name, X, y, code)
    scaler = StandardScaler().fit(X)
    code += (
        "\nfrom sklearn.preprocessing import StandardScaler\n\nscaler = StandardScaler().fit(X)\n"
        "X = scaler.transform(X)\n"
    )
    return Table(name, scaler.transform(X), y, code, scaler)
