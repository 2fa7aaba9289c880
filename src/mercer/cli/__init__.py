"""The command ``mercer``."""

import argparse
import sys
from pathlib import Path

import mercer
from mercer.cli.failure import Failure
from mercer.cli.products import SUFFIXES
from mercer.cli.progress import Progress
from mercer.cli.tables import KINDS

__all__ = ["Failure", "Progress", "main"]


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
        said = options.command(options, progress)
    except (Failure, OSError, ModuleNotFoundError, MemoryError) as error:
        progress.end()
        sys.stderr.write(f"mercer: {' '.join(str(error).split())}\n")
        return 1
    except KeyboardInterrupt:
        progress.end()
        sys.stderr.write("mercer: stopped\n")
        return 130
    progress.end()
    sys.stdout.write(f"{said}\n")
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="mercer", description="Kernel machines that go both ways: into feature space, and back."
    )
    parser.add_argument("--version", action="version", version=f"mercer {mercer.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.set_defaults(command=None)
    _add_compress(commands)
    _add_info(commands)
    _add_demo(commands)
    return parser


def _add_compress(commands):
    parser = commands.add_parser(
        "compress",
        help="write a trained kernel machine with fewer vectors, and say what that costs",
        description="Read a trained kernel machine, put a few vectors in place of its many, write it in a format that "
        "can be deployed, and report what was lost.",
        epilog="For example: mercer compress digits.model --data digits.csv --vectors 100 --to onnx",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file of mercer.save, or a text model of LIBSVM")
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help=f"data like those to be predicted, the training data say: {KINDS}. The vectors are fitted to the scores "
        "on them; without data they are fitted in feature space, which costs more accuracy",
    )
    size = parser.add_argument_group("size", "at least one of")
    size.add_argument("--vectors", type=_positive, metavar="N", help="most vectors, over all machines of the model")
    size.add_argument(
        "--max-loss",
        type=_share,
        metavar="L",
        help="the fewest vectors that lose at most this share of the score, 0.01 say, in cross-validation; takes a "
        "few dozen times as long",
    )
    parser.add_argument("--to", choices=list(SUFFIXES), default="mercer", help="format (default: %(default)s)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="file to write; one that is there is replaced. When left out a new file beside MODEL, "
        "NAME-compressed with the ending of the format; one that is there is kept, and nothing done",
    )
    parser.add_argument(
        "--dtype",
        choices=["float32", "float64"],
        help="numbers of onnx and c files (default: float32 for onnx, float64 for c)",
    )
    parser.add_argument("--seed", type=_whole, default=0, metavar="S", help="of what is chosen by chance (default: 0)")
    parser.set_defaults(command=lambda options, progress: _compress(parser, options, progress))


def _add_info(commands):
    parser = commands.add_parser(
        "info",
        help="say what a model file holds",
        description="Say what a model file holds: kind, kernel, classes, vectors, sizes, and how it was compressed.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="a file of mercer.save, or a text model of LIBSVM")
    parser.set_defaults(command=_info)


def _add_demo(commands):
    demo = commands.add_parser(
        "demo",
        help="denoise, look inside, compress and draw, on the digits of scikit-learn",
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


# --- the commands: what they need is loaded here, so that `mercer --help` need not wait for scikit-learn -------------


def _compress(parser, options, progress):
    if options.vectors is None and options.max_loss is None:
        parser.error("one of --vectors N and --max-loss L is needed")
    from mercer.cli import compressing

    return compressing.run(options, progress)


def _info(options, progress):
    from mercer.cli import information

    return information.run(options, progress)


def _demo(options, progress):
    from mercer.cli import demo

    try:
        return demo.write(options.folder, progress)
    except OSError as error:
        if error.filename is None:
            raise
        raise Failure(
            f"cannot write {error.filename}: {error.strerror}; name another folder, as in: mercer demo FOLDER"
        ) from error


# --- numbers on the command line -------------------------------------------------------------------------------------


def _positive(word):
    if not (word.isascii() and word.isdigit()) or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number of at least 1")
    return int(word)


def _whole(word):
    if not (word.isascii() and word.isdigit()) or int(word) >= 2**32:
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number from 0 to 4294967295")
    return int(word)


def _share(word):
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is no number of at least 0 and below 1, 0.01 say")
    return value
