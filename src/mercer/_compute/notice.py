"""One line of the log on the first compilation that takes more than a second."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_log = logging.getLogger("mercer")
# Seconds of compilation before the notice.
_SILENT = 1.0
# Held from the notice on, which is given once in a process.
_told = threading.Lock()


@contextmanager
def told_if_long() -> Iterator[None]:
    """Log the notice during the ``with`` block if it takes more than a second."""
    timer = threading.Timer(_SILENT, announce)
    timer.daemon = True
    if not _told.locked():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def announce() -> None:
    """Log the notice, once in a process."""
    if _told.acquire(blocking=False):
        _log.warning(
            "Mercer compiles machine code at the first call (5 to 20 s, once; it is kept on disk); the command "
            "'mercer warmup' does so for common kernels."
        )
