"""What a command is doing, on the terminal."""

_WIDTH = 24


class Progress:
    """What is being done, on one line that changes in a terminal, on plain lines elsewhere.

    Parameters
    ----------
    stream : text stream

    Examples
    --------
    >>> import sys
    >>> from mercer.cli.progress import Progress
    >>> Progress(sys.stdout)("working")
    working ...
    """

    def __init__(self, stream):
        self._stream = stream
        self._terminal = stream.isatty()
        self._text = ""

    def __call__(self, text):
        """Say what is being done now."""
        self._text = text
        self._stream.write(f"\r\x1b[2K{text} ..." if self._terminal else f"{text} ...\n")
        self._stream.flush()

    def step(self, done, most):
        """Draw how much of it is done; nothing where there is no terminal.

        Parameters
        ----------
        done, most : int
        """
        if self._terminal:
            filled = _WIDTH * min(done, most) // max(most, 1)
            self._stream.write(f"\r\x1b[2K{self._text} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done} of {most}")
            self._stream.flush()

    def end(self):
        """Leave the line empty."""
        if self._terminal:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
