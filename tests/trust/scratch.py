"""Folders for files of probes, removed when the process ends."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path


@functools.cache
def _base():
    base = tempfile.mkdtemp(prefix="probe")
    atexit.register(shutil.rmtree, base, ignore_errors=True)
    return base


def folder():
    """Return a new folder."""
    return Path(tempfile.mkdtemp(dir=_base()))
