"""The error of unreadable files, and files that are replaced completely or not at all."""

import contextlib
import os
import secrets
import stat
from pathlib import Path


class ModelFileError(ValueError):
    r"""A file that is not a model, or that contradicts itself; the message names the place.

    Examples
    --------
    >>> import mercer as mc
    >>> mc.as_expansion("svm_type c_svc\nkernel_type rfb\n")
    Traceback (most recent call last):
    mercer.formats.files.ModelFileError: ...
    """


@contextlib.contextmanager
def replacing(path):
    """Open a binary file that becomes ``path`` when the block ends; an exception keeps the file that was there.

    The permissions of a replaced file are kept. A symbolic link is replaced, not followed; devices and pipes are
    written to directly.
    """
    path = Path(os.fspath(path))
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() and not path.is_symlink() else 0o666
    temporary = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}")
    try:
        # O_EXCL: an existing file or link of that name is never opened
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder):
    """Make the new name survive a power failure, on systems that can open folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
