"""The progress of a command, on the terminal."""

from typing import TextIO


class Progress:
    """Writes the current step to a stream: one changing line on a terminal, plain lines elsewhere.

    Examples
    --------
    >>> import sys
    >>> from mercer.cli.progress import Progress
    >>> Progress(sys.stdout)("working")
    working ...
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._text = ""

    def __call__(self, text: str) -> None:
        """Start a step."""
        self._text = text
        self._write(f"\r\x1b[2K{text} ..." if self._terminal else f"{text} ...\n")

    def step(self, done: int, most: int) -> None:
        """Draw a bar of the part that is done, on a terminal only."""
        bar = "#" * (24 * min(done, most) // max(most, 1))
        self.state(f"[{bar:.<24}] {done} of {most}")

    def state(self, text: str) -> None:
        """Write a text beside the step, on a terminal only."""
        if self._terminal:
            self._write(f"\r\x1b[2K{self._text} {text}")

    def end(self) -> None:
        """Clear the line."""
        if self._terminal:
            self._write("\r\x1b[2K")

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()
