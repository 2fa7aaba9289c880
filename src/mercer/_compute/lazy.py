"""Arrays and tables of Dask: recognised without its import, their sizes, and their rows in memory within a limit."""

import numpy as np

from mercer._common import ArrayLike, Memory, PointsLike
from mercer._compute.memory import require_memory


def is_dask(value: object) -> bool:
    """Return whether a value is an array or a table of Dask."""
    return hasattr(value, "__dask_graph__")


def known_rows(values: ArrayLike, name: str) -> ArrayLike:
    """Return a Dask array of known size, of a Dask table by a pass over it; or raise."""
    if hasattr(values, "to_dask_array"):
        values = values.to_dask_array(lengths=True)
    if np.isnan(values.shape).any():
        raise ValueError(
            f"{name} has chunks of unknown size; call {name}.compute_chunk_sizes() first."
        )
    return values


def computed(X: PointsLike, name: str, memory: Memory = "1GB") -> PointsLike:
    """Return a Dask array or table in memory, or raise before it is computed if it exceeds a limit; others as is."""
    if not is_dask(X):
        return X
    rows = known_rows(X, name)
    what = f"{name} of shape {rows.shape}, a Dask array that is read into memory here,"
    instead = f"an estimator over landmarks, a larger memory=, or {name}.compute() if this machine has the memory"
    require_memory(rows.nbytes, memory, what, instead)
    return X.compute()
