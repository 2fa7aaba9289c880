"""Saved: the state of one solve, in the file of the `checkpoint` block under way."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

from mercer._common import Array, setting

_file: ContextVar[Any] = ContextVar("mercer_checkpoint", default=None)
# The part of a fit that runs solves of one name.
_part: ContextVar[str] = ContextVar("mercer_part", default="")


def saving_to(file: object) -> AbstractContextManager[None]:
    """Save states of solves to a file inside the ``with`` block, see ``StateFile`` of `mercer.checkpoint`."""
    return setting(_file, file)


def part_of_fit(name: str) -> AbstractContextManager[None]:
    """Add a name to those of the solves inside the ``with`` block: no other part of the fit takes their states."""
    return setting(_part, name)


class Saved:
    """The states of one solve; without a `checkpoint` block nothing is read or written.

    Attributes
    ----------
    state : dict of arrays or None
        State to go on from.
    """

    def __init__(self, solve: str) -> None:
        solve += _part.get()
        self._solve = solve
        file = _file.get()
        self.state = None
        if file is not None and file.pending is not None and file.solve == solve:
            self.state = file.pending
            file.pending = None
        # otherwise the solve that wrote the file is still to come
        self._file = None if file is None or file.pending is not None else file

    def require(self, fits: bool) -> None:
        """Raise unless the state is that of this problem."""
        if not fits:
            raise self._refusal()

    @contextmanager
    def resuming(self) -> Iterator[None]:
        """Raise the error of `require` for a state without some arrays, or of other shapes and types."""
        try:
            yield
        except (LookupError, TypeError, ValueError) as error:
            raise self._refusal() from error

    def _refusal(self):
        return ValueError(
            f"the checkpoint {self._file.path} is that of another problem; give the data, parameters and random_state "
            "of the fit that wrote it, or another path."
        )

    @property
    def due(self) -> bool:
        """Whether there is a file, and the last state in it is old."""
        return self._file is not None and self._file.is_due()

    def write(self, state: dict[str, Array]) -> None:
        """Write a state if the last one is old."""
        if self.due:
            self._file.write(self._solve, state)

    def end(self) -> None:
        """Remove the file of this solve, which needs it no more."""
        if self._file is not None and self._file.solve == self._solve:
            self._file.remove()
