"""What a command says when it cannot do its work."""

import contextlib


class Failure(Exception):
    """A command cannot do its work; the message is the sentence for the user, with the file and what to do."""


@contextlib.contextmanager
def naming(place, hint=""):
    """Turn errors about a file into a `Failure` that names it.

    Parameters
    ----------
    place : str or path
        The file, or the step of the work, first in the sentence.
    hint : str
        What to do, last in the sentence.

    Raises
    ------
    Failure

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
    except (OSError, ValueError, TypeError, MemoryError, ModuleNotFoundError) as error:
        # errors of the system begin with a number and end with a path of their own
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        said = said or type(error).__name__
        raise Failure(f"{place}: {said}" if not hint else f"{place}: {said.rstrip('.')}; {hint}") from error
