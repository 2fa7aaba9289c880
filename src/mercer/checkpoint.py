"""checkpoint: the state of a long solve in a file, from which the same call goes on after an interruption."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zipfile import ZipFile

import numpy as np

from mercer._common import check_nonnegative, warn
from mercer._compute.saved import saving_to

# Name of the array that holds the name of the solve.
_SOLVE = "solve"


@contextmanager
def checkpoint(path: str | os.PathLike[str], *, every: float = 60.0) -> Iterator[None]:
    """Write the state of a long fit to a file, and go on from it where the file exists.

    For one fit in the ``with`` block. After a crash, Ctrl-C or a lost cluster run the same program again: the
    iterations go on after the last state that was written, and the file is removed when they end. The state is that of

    * conjugate gradients: `KernelRidge`, `KernelFisher` and `lstsq` beyond their memory limit;
    * Lanczos steps: `KernelPCA`, `svd` and others with more than 2 000 points and few components;
    * passes of `SVC` over Dask arrays.

    What comes before them, such as landmarks and factors, is computed again. A state is that of the same problem if
    products with the kernel matrix agree in half of their digits: another machine or number of threads changes the last
    ones. Passes of `SVC` may start from any rows, and end with the solution of the data that they are given.

    Parameters
    ----------
    path : path
        File, in the format of ``numpy.savez``. It is replaced as a whole, so that a crash leaves the last state.
    every : float
        Least number of seconds between two states.

    Raises
    ------
    ValueError
        If the file is not a checkpoint, or its state is that of other data, parameters or another random_state that
        changes the solve.
    FileNotFoundError
        If the folder does not exist.

    Warns
    -----
    UserWarning
        If the file cannot be written, as on a full disk: the fit goes on, and the file keeps the state of before. If
        the file cannot be removed, or is that of another solve, which the fit does not contain.

    Examples
    --------
    >>> import tempfile, numpy as np, mercer as mc
    >>> X = np.linspace(0, 6, 400).reshape(-1, 1)
    >>> model = mc.KernelRidge(1e-3, kernel=mc.Gaussian(0.5), memory="1MB")
    >>> with mc.checkpoint(tempfile.mkdtemp() + "/fit.npz"):
    ...     model.fit(X, np.sin(X.ravel())).residual_ < 1e-6
    True
    """
    check_nonnegative("every", every)
    file = StateFile(path, every)
    with saving_to(file):
        yield
    if file.pending is not None:
        warn(
            f"the checkpoint {file.path} is that of another solve, {file.solve}, and was not used; remove it."
        )


class StateFile:
    """The file of a ``with`` block: ``pending`` is a state in it that no solve has asked for, ``solve`` its name."""

    pending: dict[str, Any] | None = None
    solve: str | None = None

    def __init__(self, path: str | os.PathLike[str], every: float) -> None:
        # formats are imported at first use
        from mercer.formats.files import as_path

        self.path = as_path(path)
        self._every = every
        self._last = time.monotonic()
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"the folder of path = {str(path)!r} does not exist; give another path, or create it first."
            )
        if self.path.exists():
            with open(self.path, "rb") as stream:
                try:
                    _refuse_expanding(stream)
                    self.pending = dict(np.load(stream, allow_pickle=False))
                    self.solve = str(self.pending.pop(_SOLVE))
                    if not all(isinstance(each, np.ndarray) for each in self.pending.values()):
                        raise ValueError("not all parts are arrays")
                except Exception as error:
                    # NumPy has many kinds of errors for other and damaged files
                    raise ValueError(
                        f"path = {str(path)!r} is not a checkpoint ({error}); name another."
                    ) from error

    def is_due(self) -> bool:
        """Return whether the last state is old."""
        return time.monotonic() - self._last >= self._every

    def write(self, solve: str, state: dict[str, Any]) -> None:
        """Replace the file as a whole by a state; warn where that fails."""
        from mercer.formats.files import replacing

        try:
            with replacing(self.path) as stream:
                np.savez(stream, allow_pickle=False, **{_SOLVE: np.array(solve)}, **state)
        except OSError as error:
            warn(
                f"the checkpoint {self.path} was not written: {error}; the fit goes on, free some space meanwhile."
            )
        self.solve = solve
        self._last = time.monotonic()

    def remove(self) -> None:
        """Remove the file; warn where that fails."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            warn(
                f"the checkpoint {self.path} was not removed: {error}; remove it before the next fit."
            )
        self.solve = None


def _refuse_expanding(stream):
    """Raise if the arrays of a file take more memory than the file: compressed ones do, and those that overlap."""
    with ZipFile(stream) as archive:
        size = sum(each.file_size for each in archive.infolist())
    if size > stream.seek(0, os.SEEK_END):
        raise ValueError(f"its arrays take {size} bytes, more than the file")
    stream.seek(0)
