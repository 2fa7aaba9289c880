"""The same values in other containers and types, by kind of argument: the result must be the same.

Fates: "same" asks for the result of the plain array; "same or refuse" allows a clear error; "near" is float32.
"""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from tests.trust import scratch
from tests.trust.defects import Defect


def _same(name, make, fate="same"):
    return Defect(name, make, fate, ".")


def _mapped(v):
    path = scratch.folder() / "X.npy"
    np.save(path, v)
    return np.load(path, mmap_mode="r")


def _read_only(v):
    v = np.array(v)
    v.flags.writeable = False
    return v


def _unaligned(v):
    return np.frombuffer(b"x" + v.tobytes(), np.uint8)[1:].view(v.dtype).reshape(v.shape)


def _every_second(v):
    return np.repeat(v, 2, axis=0)[::2]


def _wide_indices(v):
    S = sp.csr_array(v)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def _unsorted(v):
    """Return a CSR matrix with indices in descending order."""
    S = sp.csr_matrix(np.asarray(v)[:, ::-1])
    S.indices = (v.shape[1] - 1 - S.indices).astype(np.int32)
    return S


def _halves(v):
    rows, columns = np.nonzero(v)
    return sp.coo_matrix(
        (np.tile(v[rows, columns] / 2, 2), (np.tile(rows, 2), np.tile(columns, 2))), v.shape
    )


def _mixed_indices(v):
    S = sp.csr_matrix(v)
    S.indices = S.indices.astype(np.int64)
    return S


def _explicit_zeros(v):
    S = sp.csr_array(np.ones_like(v))
    S.data[:] = np.ravel(v)
    return S


def _duplicates(v):
    """Return a CSR matrix in which each entry is stored twice, by halves."""
    n, d = v.shape
    data, indices = np.repeat(np.ravel(v) / 2, 2), np.repeat(np.tile(np.arange(d), n), 2)
    S = sp.csr_matrix((data, indices, 2 * d * np.arange(n + 1)), v.shape)
    S.has_canonical_format = True
    return S


def _slack(v):
    """Return a CSR matrix with entries behind the last row."""
    S = sp.csr_matrix(v)
    S.data, S.indices = (
        np.append(S.data, np.nan),
        np.append(S.indices, np.array([10**6], S.indices.dtype)),
    )
    return S


def _read_only_sparse(v):
    S = _unsorted(v)
    for part in (S.data, S.indices, S.indptr):
        part.flags.writeable = False
    return S


def _big_endian_sparse(v):
    S = sp.csr_array(v)
    S.data = S.data.astype(">f8")
    return S


ANY = [
    _same("list", lambda v: v.tolist()),
    _same("read_only", _read_only),
    _same("every_second", _every_second),
    _same("reversed_view", lambda v: v[::-1].copy()[::-1]),
    _same("big_endian", lambda v: v.astype(v.dtype.newbyteorder(">"))),
    _same("unaligned", _unaligned),
    _same("memory_map", _mapped),
    _same("subclass", lambda v: v.view(np.recarray)),
    _same("masked_without_mask", np.ma.masked_array),
    _same("objects", lambda v: v.astype(object)),
]
ROWS = [
    *ANY,
    _same("tuples", lambda v: tuple(map(tuple, v.tolist()))),
    _same("fortran", np.asfortranarray),
    _same("long_double", lambda v: v.astype(np.longdouble)),
    _same("float32", lambda v: v.astype(np.float32), "near"),
    _same("matrix", np.asmatrix, "same or refuse"),
    _same("pandas", lambda v: pd.DataFrame(v)),
    _same("pandas_nullable", lambda v: pd.DataFrame(v).astype("Float64")),
    _same("polars", lambda v: pl.DataFrame(v, schema=[f"c{i}" for i in range(v.shape[1])])),
    _same("csr", sp.csr_matrix, "same or refuse"),
    _same("csr_array", sp.csr_array, "same or refuse"),
    _same("csc", sp.csc_matrix, "same or refuse"),
    _same("coo_halves", _halves, "same or refuse"),
    _same("csr_wide_indices", _wide_indices, "same or refuse"),
    _same("csr_unsorted", _unsorted, "same or refuse"),
    _same("csr_indices_of_two_types", _mixed_indices, "same or refuse"),
    _same("csr_explicit_zeros", _explicit_zeros, "same or refuse"),
    _same("csr_duplicates_claimed_canonical", _duplicates, "same or refuse"),
    _same("csr_slack", _slack, "same or refuse"),
    _same("csr_read_only", _read_only_sparse, "same or refuse"),
    _same("csr_big_endian", _big_endian_sparse, "same or refuse"),
    _same("dia", sp.dia_array, "same or refuse"),
    _same("dok", sp.dok_array, "same or refuse"),
    _same("lil", sp.lil_matrix, "same or refuse"),
    _same("columns_reversed_view", lambda v: np.ascontiguousarray(np.asarray(v)[:, ::-1])[:, ::-1]),
    _same(
        "float32_fortran_reversed",
        lambda v: np.asfortranarray(v[::-1].astype(np.float32))[::-1],
        "near",
    ),
    _same("float32_big_endian", lambda v: v.astype(">f4"), "near"),
    _same("pandas_shuffled_index", lambda v: pd.DataFrame(v, index=np.roll(np.arange(len(v)), 3))),
    _same("pandas_categories", lambda v: pd.DataFrame(v).astype("category"), "same or refuse"),
    _same(
        "pandas_sparse",
        lambda v: pd.DataFrame(v).astype(pd.SparseDtype(float, 0.0)),
        "same or refuse",
    ),
    _same(
        "decimals",
        lambda v: np.array([[Decimal(x) for x in row] for row in np.asarray(v).tolist()]),
        "same or refuse",
    ),
]
COLUMN = [
    *ANY,
    _same("series", pd.Series),
    _same("tuple", tuple),
    _same("polars", pl.Series, "same or refuse"),
]
BY_KIND = {
    "rows": ROWS,
    "rows or none": ROWS,
    "training rows": ROWS,
    "fitted rows": ROWS,
    "matrix": [each for each in ROWS if each.fate == "same"],
    "labels": [
        *(each for each in COLUMN if each.name != "objects"),
        # scikit-learn does not know what objects are
        _same("objects", lambda v: v.astype(object), "same or refuse"),
        _same("names", lambda v: np.array(["ash", "birch", "cedar"])[v], "renamed"),
        _same("name_objects", lambda v: np.array(["ash", "birch", "cedar"], object)[v], "renamed"),
        _same("reals", lambda v: v.astype(float)),
        _same("booleans", lambda v: v.astype(bool), "renamed"),
        _same(
            "categories",
            lambda v: pd.Series(pd.Categorical.from_codes(v, ["ash", "birch", "cedar"])),
            "renamed",
        ),
        _same("column", lambda v: v[:, None], "same or refuse"),
    ],
    "reals": [
        *COLUMN,
        _same("float32", lambda v: v.astype(np.float32), "near"),
        _same("column", lambda v: v[:, None]),
    ],
    "sample weights": [*COLUMN, _same("float32", lambda v: v.astype(np.float32), "near")],
    **dict.fromkeys(
        ("list of values", "grid", "values"), [each for each in COLUMN if each.name != "polars"]
    ),
    "values or none": [each for each in COLUMN if each.name != "polars"],
    "positive": [
        _same("numpy_number", np.float64),
        _same("float32", np.float32),
        _same("numpy_scalar_array", lambda v: np.array(v)[()]),
    ],
    "count": [
        _same("numpy_integer", np.int64),
        _same("small_integer", np.int16),
    ],
}
# kinds of arguments that take the containers of another kind
BY_KIND |= {
    "matrix or factors": BY_KIND["matrix"],
    "known labels or none": BY_KIND["labels"],
    "labels or none": BY_KIND["labels"],
    "labels or values": BY_KIND["labels"],
    "density values": BY_KIND["sample weights"],
    "positive or infinite": BY_KIND["positive"],
    "count or zero": BY_KIND["count"],
}
