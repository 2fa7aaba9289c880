"""Session: the tables of the page, and the last numbers, computed one at a time."""

import functools
import logging
import threading
import time
from collections import OrderedDict
from pathlib import Path

import numpy as np

from mercer._common import record
from mercer.cli import pictures
from mercer.cli.explore import tables
from mercer.cli.explore.choice import Choice
from mercer.cli.explore.views import VIEWS
from mercer.cli.failure import Failure
from mercer.formats import save

_log = logging.getLogger("mercer")


@record
class Answer:
    """Content of a view: the pictures for both themes, sentences, code and a message, which is empty after success."""

    pictures: tuple[str, ...]
    facts: list[str]
    code: str
    message: str


class Session:
    """Tables, uploads among them, and results; one computation runs at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uploads = OrderedDict()
        self._timed = functools.lru_cache(maxsize=16)(_timed)

    def upload(self, contents: str, name: str) -> str:
        """Keep an uploaded table and return its key; a Failure says what is wrong."""
        key, table = tables.uploaded(contents, name)
        with self._lock:
            self._uploads[key] = table
            self._uploads.move_to_end(key)
            if len(self._uploads) > 8:
                self._uploads.popitem(last=False)
        return key

    def names(self) -> dict[str, str]:
        """Return the names of all tables by key."""
        return {name: name for name in tables.BUILT_IN} | {
            key: each.name for key, each in self._uploads.items()
        }

    def table(self, key: str) -> tables.Table:
        """Return the Table of a key."""
        if key in tables.BUILT_IN:
            return tables.built_in(key)
        if key not in self._uploads:
            raise Failure(
                f"the table {key[:40]!r} is not in memory; choose another one, or upload it again."
            )
        return self._uploads[key]

    def answer(self, choice: Choice) -> Answer:
        """Return the Answer of a choice; errors are messages."""
        try:
            with self._lock:
                view, table, (result, warned, seconds) = self._computed(choice)
                # settings of matplotlib are those of all threads
                shown = pictures.inline(view.draw(result, view.points(table, choice), table))
            facts = [*view.facts(result), f"computed in {1000 * seconds:.0f} ms"]
            return Answer(shown, facts, view.code(table, choice), " ".join(warned))
        except Exception as error:
            return refused(error)

    def model(self, choice: Choice, path: Path) -> None:
        """Save the model of a choice to a file that `mercer.load` reads."""
        with self._lock:
            view, table, (result, _, _) = self._computed(choice)
        if not view.downloads:
            raise Failure("this view has no model; choose another view.")
        save(view.model(table, choice, result), path)

    def _computed(self, choice):
        """Return view, table, and numbers, warnings and seconds of a choice, from memory if it was the same before."""
        if choice.view not in VIEWS:
            raise Failure(f"view = {choice.view[:40]!r} must be one of {', '.join(VIEWS)}.")
        view = VIEWS[choice.view]
        table = self.table(choice.table)
        if choice.plane not in table.planes():
            raise Failure(
                f"plane = {choice.plane[:40]!r} must be one of {', '.join(table.planes())}."
            )
        return view, table, self._timed(view, table, choice)


def _timed(view, table, choice):
    """Return numbers, warnings and seconds of a view of a table."""
    start = time.perf_counter()
    return *view.run(table, choice), time.perf_counter() - start


def refused(error: Exception) -> Answer:
    """Return the Answer to a choice that is wrong or fails: its message alone."""
    return Answer((), [], "", explained(error))


def explained(error: Exception) -> str:
    """Return the sentence that the page shows for an error."""
    if isinstance(error, (Failure, ValueError, TypeError, MemoryError, np.linalg.LinAlgError)):
        return " ".join(str(error).split())[:500] or type(error).__name__
    _log.error("a view failed", exc_info=error)
    return f"The computation failed with {type(error).__name__}; choose other values. This is a fault of mercer."
