"""One line of the log on the first compilation that takes more than a second."""

import functools
import logging
import threading

_log = logging.getLogger("mercer")
# Seconds of compilation before the notice.
_SILENT = 1.0
_lock = threading.Lock()


@functools.cache
def watch_compilations() -> None:
    """Let Numba tell of compilations, once in a process; Numba is imported then."""
    from numba.core import event

    class Watch(event.Listener):
        """Start a timer at each compilation, and stop it at its end."""

        def __init__(self) -> None:
            self._timers: list[threading.Timer] = []

        def on_start(self, event: object) -> None:
            # compilations are nested; the notice is given once
            if not announce.cache_info().currsize:
                self._timers.append(threading.Timer(_SILENT, _announce))
                self._timers[-1].daemon = True
                self._timers[-1].start()

        def on_end(self, event: object) -> None:
            if self._timers:
                self._timers.pop().cancel()

    event.register("numba:compile", Watch())


def _announce() -> None:
    # two timers may end at once
    with _lock:
        announce()


@functools.cache
def announce() -> None:
    """Log the notice, once in a process."""
    _log.warning(
        "Mercer compiles machine code at the first call (5 to 20 s, once; it is kept on disk); the command "
        "'mercer warmup' does so for common kernels."
    )
