"""The error of unreadable files, a limit of their content, and files that are replaced completely or not at all."""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mercer._common import shown

try:
    import fcntl
except ImportError:
    # not on Windows
    fcntl = None


# Largest number of columns that a file may state: the mean of rows with more would take more than 512 MB.
WIDEST = 2**26
# Errors of file systems that have no files without a name.
_NO_UNNAMED = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL}


class ModelFileError(ValueError):
    r"""A file that is not a model, or that contradicts itself; the message names the place.

    Examples
    --------
    >>> import mercer as mc
    >>> mc.as_expansion("svm_type c_svc\nkernel_type rfb\n")
    Traceback (most recent call last):
    mercer.formats.files.ModelFileError: ...
    """


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file, or raise unless it is text or a path that can be one."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"path must be text or a pathlib.Path, got {shown(path)} of type {type(path).__name__}."
        )
    name = os.fspath(path)
    # the limit of Linux
    if not 0 < len(name) <= 4096 or "\0" in os.fsdecode(name):
        raise ValueError(
            f"path = {shown(name)} must be the name of a file, without null bytes, of at most 4096 characters."
        )
    return Path(os.fsdecode(name))


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that becomes ``path`` when the block ends; an exception keeps the file that was there.

    The permissions of a replaced file are kept. A symbolic link is replaced, not followed; devices and pipes are
    written to directly. Until the end the file has no name where the system allows that, so that a process that is
    killed leaves nothing; where it does not, the next call removes what was left.
    """
    path = as_path(path)
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    mode = stat.S_IMODE(path.stat().st_mode) if path.is_file() and not path.is_symlink() else 0o666
    prefix = f".{path.name[:200]}."
    _remove_left(path.parent, prefix)
    temporary = path.with_name(prefix + secrets.token_hex(8))
    try:
        handle, is_named = _open_temporary(temporary, mode)
        with open(handle, "wb") as file:
            _lock(handle)
            yield file
            file.flush()
            os.fsync(handle)
            if not is_named:
                _name(handle, temporary)
            if fcntl is None:
                # Windows does not rename open files; elsewhere the lock ends after the name is gone
                file.close()
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _open_temporary(path, mode):
    """Open a new file to write; return its descriptor, and whether it has the name ``path`` yet."""
    if hasattr(os, "O_TMPFILE"):
        try:
            handle = os.open(path.parent, os.O_WRONLY | os.O_TMPFILE, mode)
            if os.path.exists(_link_to(handle)):
                return handle, False
            os.close(handle)
        except OSError as error:
            if error.errno not in _NO_UNNAMED:
                raise
    # O_EXCL: an existing file or link of that name is never opened
    return os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode
    ), True


def _link_to(handle):
    return f"/proc/self/fd/{handle}"


def _name(handle, path):
    """Give an open file without a name the name ``path``."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # with a folder Python calls linkat, which follows the link in /proc; link does not
        os.link(_link_to(handle), path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _lock(handle):
    """Lock an open file until it is closed; return whether no other process has it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_left(folder, prefix):
    """Remove temporary files of processes that were killed: those that no process has locked."""
    name = re.compile(re.escape(prefix) + "[0-9a-f]{16}")
    with contextlib.suppress(OSError):
        for left in [
            each for each in folder.iterdir() if name.fullmatch(each.name) and each.is_file()
        ]:
            handle = os.open(left, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                if _lock(handle):
                    left.unlink()
            finally:
                os.close(handle)


def _sync_folder(folder):
    """Make the new name survive a power failure, on systems that can open folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
