"""Checks of input files before they are read: regular files, whose content fits into memory."""

import math
import stat
import zipfile
from pathlib import Path

import numpy as np

from mercer._compute.memory import human_bytes
from mercer.cli.failure import Failure

# Bytes that a file may have, and the arrays in it.
BUDGET = 10**9


def require_file(path: Path, kind: str) -> None:
    """Raise a Failure unless a path is a regular file of at most `BUDGET` bytes; ``kind`` says what to name instead.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mercer.cli.inputs import require_file
    >>> require_file(Path("/dev/null"), "a data file")
    Traceback (most recent call last):
    mercer.cli.failure.Failure: /dev/null: this is not a regular file; name a data file.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        found = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise Failure(f"{path}: this is {found}; name {kind}.")
    _require_budget(path, "the file", status.st_size)


def require_arrays(path: Path) -> None:
    """Raise unless the arrays of an .npz or .npy file are as large as the file says and take at most `BUDGET` bytes."""
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            _require_array(path, "the array", file, path.stat().st_size)
            return
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                if entry.filename in ("X.npy", "y.npy"):
                    # what is read later is at most the size that is stated here
                    _require_budget(path, entry.filename, entry.file_size)
                    with archive.open(entry) as member:
                        _require_array(path, entry.filename, member, entry.file_size)


def _require_array(path, name, file, size):
    """Raise unless an open .npy file of ``size`` bytes holds the array that its header states."""
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(file)
    except ValueError as error:
        raise ValueError("this is not a file of NumPy arrays") from error
    if version not in readers:
        raise ValueError(f"{name} has version {version} of the format, which is for records")
    shape, _, dtype = readers[version](file)
    needed = math.prod(shape) * dtype.itemsize
    _require_budget(path, name, needed)
    if not dtype.hasobject and needed != size - file.tell():
        raise ValueError(
            f"{name} states {needed} bytes, shape {shape} of {dtype}, but holds {size - file.tell()}"
        )


def _require_budget(path, name, size):
    if size > BUDGET:
        raise Failure(
            f"{path}: {name} has {human_bytes(size)}, commands read at most {human_bytes(BUDGET)}; give fewer rows, or "
            "use mercer in Python."
        )
