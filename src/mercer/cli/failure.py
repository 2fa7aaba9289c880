"""Errors of commands, as one sentence for the user."""

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path

# Characters of the message of an error of another library, which may hold a whole line of a file.
_LONGEST = 120


class Failure(Exception):
    """An error of a command; the message is one sentence that names the file and the remedy."""


@contextlib.contextmanager
def naming(place: str | Path, remedy: str = "") -> Iterator[None]:
    """Turn errors of the block into a `Failure` whose message starts with a file or step and ends with a remedy.

    Examples
    --------
    >>> from mercer.cli.failure import naming
    >>> with naming("data.csv", "give a number"):
    ...     float("seven")
    Traceback (most recent call last):
    mercer.cli.failure.Failure: data.csv: could not convert string to float: 'seven'; give a number
    """
    try:
        yield
    except Failure:
        raise
    except Exception as error:
        # the text of an OSError starts with a number and ends with the path
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        text = (text or type(error).__name__).rstrip(".")
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if len(text) > _LONGEST and not frame.f_globals.get("__name__", "").startswith("mercer."):
            text = f"{text[:_LONGEST]} ..."
        raise Failure(f"{place}: {text}; {remedy}" if remedy else f"{place}: {text}") from error
