"""The command ``mercer``: compress a model file, describe one, or run the demo."""

import sys

from mercer.cli.arguments import parse
from mercer.cli.failure import Failure
from mercer.cli.progress import Progress

__all__ = ["Failure", "Progress", "main"]


def main(arguments=None):
    """Run the command ``mercer`` with a list of arguments, by default those of the process; return its exit code.

    The code is 0 after success, 1 after an error, 2 without a command (argparse exits with 2 for wrong arguments), and
    130 after Ctrl-C.
    """
    run, options = parse(arguments)
    if run is None:
        return 2
    progress = Progress(sys.stderr)
    try:
        text = run(options, progress)
    except (Failure, OSError, ModuleNotFoundError, MemoryError) as error:
        progress.end()
        sys.stderr.write(f"mercer: {' '.join(str(error).split())}\n")
        return 1
    except KeyboardInterrupt:
        progress.end()
        sys.stderr.write("mercer: stopped\n")
        return 130
    progress.end()
    sys.stdout.write(f"{text}\n")
    return 0
