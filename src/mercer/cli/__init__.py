"""The command ``mercer``: compress or describe a model file, run the demo, explore kernels, compile beforehand."""

import logging
import sys
from collections.abc import Sequence

from mercer.cli.arguments import parse
from mercer.cli.failure import Failure
from mercer.progress_bar import Progress

__all__ = ["Failure", "Progress", "main"]

_log = logging.getLogger("mercer")


def main(arguments: Sequence[str] | None = None) -> int:
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
        progress.end()
        # file names may hold bytes that are not text
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(f"{text}\n".encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
        return 0
    except (Failure, OSError, ModuleNotFoundError, MemoryError) as error:
        code = 1
        text = str(error)
    except Exception as error:
        _log.debug("the command failed", exc_info=error)
        code = 1
        text = f"{type(error).__name__}: {error}; this is a fault of mercer, please report it"
    except KeyboardInterrupt:
        code = 130
        text = "stopped"
    progress.end()
    sys.stderr.write(f"mercer: {' '.join(text.split())}\n")
    return code
