"""The command ``mercer``."""

import argparse
import sys
from pathlib import Path

import mercer


def main(arguments=None):
    """Run the command ``mercer``.

    Parameters
    ----------
    arguments : list of str, optional
        Those of the process when left out.

    Returns
    -------
    int
        0 when all is well, 1 when the work could not be done, 130 after Ctrl-C; argparse exits with 2 for arguments
        it does not understand.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    progress = Progress(sys.stderr)
    try:
        path = options.command(options, progress)
    except (OSError, ModuleNotFoundError) as error:
        progress.end()
        sys.stderr.write(f"mercer: {_reason(error)}\n")
        return 1
    except KeyboardInterrupt:
        progress.end()
        sys.stderr.write("mercer: stopped\n")
        return 130
    progress.end()
    sys.stdout.write(f"{path}\n")
    return 0


class Progress:
    """What is being done, on one line that changes in a terminal, on plain lines elsewhere.

    Parameters
    ----------
    stream : text stream
    """

    def __init__(self, stream):
        self._stream = stream
        self._terminal = stream.isatty()

    def __call__(self, text):
        """Say what is being done now."""
        self._stream.write(f"\r\x1b[2K{text} ..." if self._terminal else f"{text} ...\n")
        self._stream.flush()

    def end(self):
        """Leave the line empty."""
        if self._terminal:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


def _parser():
    parser = argparse.ArgumentParser(
        prog="mercer", description="Kernel machines that go both ways: into feature space, and back."
    )
    parser.add_argument("--version", action="version", version=f"mercer {mercer.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.set_defaults(command=None)
    demo = commands.add_parser(
        "demo",
        help="denoise, look inside and draw, on the digits of scikit-learn",
        description="Run the main jobs on the digits that ship with scikit-learn, offline and in about a minute, and "
        'write one page of pictures and numbers, FOLDER/index.html. Needs matplotlib: pip install "mercer[plot]".',
    )
    demo.add_argument(
        "folder",
        nargs="?",
        default="mercer-demo",
        type=Path,
        metavar="FOLDER",
        help="where to write; made when it is not there (default: %(default)s)",
    )
    demo.set_defaults(command=_demo)
    return parser


def _demo(options, progress):
    # Here, so that `mercer --help` need not wait for scikit-learn.
    from mercer import demo

    return demo.write(options.folder, progress)


def _reason(error):
    """Return what an error says: its sentence, or for a file what is wrong with which."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot write {error.filename}: {error.strerror}; name another folder, as in: mercer demo FOLDER"
    return str(error)
