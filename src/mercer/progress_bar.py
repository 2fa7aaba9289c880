"""ProgressBar: the progress of a call or a fit, in a terminal or a notebook; Progress: that of a command, as text."""

import sys
from types import SimpleNamespace
from typing import Any, Self, TextIO

from mercer._common import check_integer


class ProgressBar:
    """A bar with the time left, for ``callback=`` of functions and ``set_callbacks`` of estimators.

    Rich draws it in notebooks and on the standard error of terminals; without rich it is a line of text there.

    Parameters
    ----------
    text : str
        Name of the task, beside the bar.
    most : int, optional
        Number of steps. Callbacks of `compress`, `preimage`, `check_kernel` and `capacity.report` state it; that of
        `reduce` states the error in its place, so that the number of vectors is given here.

    Notes
    -----
    Fits state the number of steps for landmarks, rows and blocks; for iterations that end by a tolerance the bar shows
    the number of steps and no time, for support vector machines the largest violation of the optimality conditions,
    which falls to ``tol``. Callbacks of estimators need scikit-learn 1.9.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> psi = mc.Expansion(mc.Gaussian(2.0), np.linspace(0, 1, 50)[:, None], np.ones((50, 1)))
    >>> with mc.ProgressBar("pre-images") as bar:
    ...     answer = mc.preimage(psi, callback=bar)
    >>> with mc.ProgressBar("reduced set", most=5) as bar:
    ...     answer = mc.reduce(psi, 5, callback=bar)
    """

    def __init__(self, text: str = "", most: int | None = None) -> None:
        if most is not None:
            check_integer("most", most)
        self._text = text
        self._most = most
        self._bar = None

    def __call__(self, done: int, most: float) -> bool:
        """Draw the bar with some steps done of the most; return False, which ends nothing."""
        self._show(self._text, done, most if self._most is None else self._most)
        return False

    def begin(self, task: str) -> None:
        """Name the task, unless the bar has a name."""
        self._text = self._text or task

    def __enter__(self) -> Self:
        """Return the bar, which the end of the ``with`` block removes from the screen's live part."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.end()
        self._bar = None

    def setup(self, estimator: object, context: object) -> None:
        """Start nothing before the first step of a fit."""

    def on_fit_task_begin(self, estimator: object, context: object) -> None:
        """Draw nothing before a step is done."""

    def on_fit_task_end(
        self, estimator: object, context: object, *, metadata: dict[str, Any] | None = None
    ) -> bool:
        """Draw a step of a fit; return False, which ends nothing."""
        if metadata:
            text = f"{self._text or type(estimator).__name__}: {metadata['stage']}"
            count = (
                "violation {violation:.1e}, tol {tol:.0e}".format(**metadata)
                if "tol" in metadata
                else None
            )
            self._show(
                text, metadata.get("done", metadata["iteration"] + 1), metadata.get("most"), count
            )
        return False

    def teardown(self, estimator: object, context: object) -> None:
        """End the bar after a fit."""
        self.__exit__()

    def _show(self, text, done, most, count=None):
        if self._bar is None:
            self._bar = _rich() or Progress(sys.stderr)
        self._bar.draw(
            text, done, most, count or (f"{done}" if most is None else f"{done} of {most}")
        )


def _rich():
    """Return a bar of rich with the functions ``draw`` and ``end`` of `Progress`; None without rich."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(
        *columns, console=console, disable=not (console.is_terminal or console.is_jupyter)
    )
    bar.start()
    task = bar.add_task("", total=None, count="")

    def draw(text, done, most, count):
        bar.update(task, description=text, completed=done, total=most, count=count)

    return SimpleNamespace(draw=draw, end=bar.stop)


class Progress:
    """Writes the current step to a stream: one changing line on a terminal, plain lines elsewhere.

    Examples
    --------
    >>> import sys
    >>> from mercer.progress_bar import Progress
    >>> Progress(sys.stdout)("working")
    working ...
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._text = None

    def __call__(self, text: str) -> None:
        """Start a step."""
        self._text = text
        self._write(f"\r\x1b[2K{text} ..." if self._terminal else f"{text} ...\n")

    def step(self, done: int, most: int) -> None:
        """Draw a bar of the part that is done, on a terminal only."""
        bar = "#" * (24 * min(done, most) // max(most, 1))
        self._state(f"[{bar:.<24}] {done} of {most}")

    def draw(self, text: str, done: int, most: int | None, count: str) -> None:
        """Start a step, unless it is under way, and draw its bar, or what was counted where the most is not known."""
        if text != self._text:
            self(text)
        if most is None:
            self._state(count)
        else:
            self.step(done, most)

    def end(self) -> None:
        """Clear the line."""
        if self._terminal:
            self._write("\r\x1b[2K")

    def _state(self, text):
        """Write a text beside the step, on a terminal only."""
        if self._terminal:
            self._write(f"\r\x1b[2K{self._text} {text}")

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()
