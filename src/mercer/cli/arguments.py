"""Arguments of the command ``mercer``."""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import mercer
from mercer._common import shown
from mercer.cli import compress, demo, explore, info, warmup
from mercer.cli.tables import KINDS
from mercer.formats.quantised import CODED

_MODEL = {"type": Path, "metavar": "MODEL", "help": "a file of mercer.save or a LIBSVM text model"}


def parse(arguments: Sequence[str] | None) -> tuple[Callable[..., str] | None, argparse.Namespace]:
    """Return the function ``run(options, progress)`` of a command and its options; None after printing the help."""
    parser = argparse.ArgumentParser(
        prog="mercer",
        usage="mercer [-h] [--version] COMMAND ...\n\nModels are fitted, applied and converted in Python: "
        "mercer.SVC().fit(X, y), mercer.save, mercer.load, mercer.formats.to_onnx; "
        "sklearn.datasets.load_svmlight_file reads files of LIBSVM",
        description="Kernel methods: compress, inspect and export models such as support vector machines.",
    )
    parser.add_argument("--version", action="version", version=f"mercer {mercer.__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="name", prog="mercer"
    )
    for add in (_add_compress, _add_info, _add_demo, _add_explore, _add_warmup):
        add(commands)
    options, unknown = parser.parse_known_args(arguments)
    # errors show the usage of the command
    used = commands.choices.get(options.name, parser)
    if unknown:
        used.error(f"unrecognized arguments: {' '.join(unknown)}; its options are above")
    if options.command is None:
        parser.print_help(sys.stderr)
    elif options.command is compress.run and options.vectors is None and options.max_loss is None:
        used.error("one of --vectors N and --max-loss L is needed")
    return options.command, options


def _add_compress(commands):
    parser = commands.add_parser(
        "compress",
        help="reduce the number of vectors of a fitted model, and report the loss",
        description="Read a fitted kernel model, replace its vectors by fewer ones, write it in a format for "
        "deployment, and report the loss.",
        epilog="Example: mercer compress digits.model --data digits.csv --vectors 100 --to onnx",
    )
    parser.add_argument("model", **_MODEL)
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help=f"data like those to predict, for example the training data: {KINDS}. The vectors are fitted to the "
        "outputs of the model on these data. Without data they are fitted in feature space, which loses more accuracy",
    )
    parser.add_argument(
        "--holdout",
        type=_part,
        metavar="H",
        help="share of the rows of --data that no vector is fitted to; the reported score is on these rows",
    )
    size = parser.add_argument_group("size", "at least one of")
    size.add_argument(
        "--vectors",
        type=_positive,
        metavar="N",
        help="largest number of vectors of the whole model",
    )
    size.add_argument(
        "--max-loss",
        type=_share,
        metavar="L",
        help="find the smallest number of vectors that loses at most this share of the score in cross-validation, "
        "for example 0.01; takes about 30 times as long",
    )
    parser.add_argument(
        "--to",
        choices=compress.SUFFIXES,
        default="mercer",
        help="format (default: %(default)s)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="file to write; an existing file is replaced. The default is a new file NAME-compressed beside MODEL, "
        "with the suffix of the format",
    )
    parser.add_argument(
        "--dtype",
        choices=["float32", "float64", *CODED],
        help="numbers in onnx and c files (default: float32 for onnx, float64 for c); float16 and int8 store vectors "
        "in 16 or 8 bits and need --data",
    )
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="S", help="random seed (default: 0)"
    )
    parser.set_defaults(command=compress.run)


def _add_warmup(commands):
    parser = commands.add_parser(
        "warmup",
        help="compile the machine code of the common kernels, so that first calls take no seconds",
        description="Train and apply small models with the common kernels in float64 and float32; the machine code "
        "that these calls compile is kept on disk, beside the source or in the folder NUMBA_CACHE_DIR.",
    )
    parser.set_defaults(command=warmup.run)


def _add_info(commands):
    parser = commands.add_parser(
        "info",
        help="describe a model file",
        description="Describe a model file: class, kernel, classes, vectors, sizes, and its compression report.",
    )
    parser.add_argument("model", **_MODEL)
    parser.set_defaults(command=info.run)


def _add_demo(commands):
    parser = commands.add_parser(
        "demo",
        help="denoise, inspect and compress, on the digits of scikit-learn",
        description="Denoise digits, plot kernel principal components and compress a support vector machine, on the "
        "digits of scikit-learn, offline and in about a minute. Writes one page of pictures and numbers, "
        'FOLDER/index.html. Needs matplotlib: pip install "mercer[plot]".',
    )
    parser.add_argument(
        "folder",
        nargs="?",
        default="mercer-demo",
        type=Path,
        metavar="FOLDER",
        help="folder to write to, created if it does not exist (default: %(default)s)",
    )
    parser.set_defaults(command=lambda options, progress: demo.write(options.folder, progress))


def _add_explore(commands):
    parser = commands.add_parser(
        "explore",
        help="open a page in the browser to try kernels on a table",
        description="Open a page in the browser, on this computer only: choose or upload a table, combine kernels, see "
        "decision boundary, kernel PCA, spectrum, geometry, denoising and compression, and download the model. Ctrl-C "
        'stops it. Needs dash: pip install "mercer[explore]".',
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=8050,
        metavar="P",
        help="port of 127.0.0.1; 0 is any free one (default: 8050)",
    )
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="print the address, which has a token, and open no browser",
    )
    parser.set_defaults(
        command=lambda options, progress: explore.serve(
            options.port, not options.no_browser, progress
        )
    )


# --- numbers ---------------------------------------------------------------------------------------------------------


def _integer(least, most, described):
    """Return the function that reads a number of digits between two bounds."""

    def read(word):
        if not (word.isascii() and word.isdigit() and least <= int(word) <= most):
            raise argparse.ArgumentTypeError(f"{shown(word)} must be {described}")
        return int(word)

    return read


def _fraction(least, described):
    """Return the function that reads a number of at least a limit and below 1."""

    def read(word):
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not least <= value < 1:
            raise argparse.ArgumentTypeError(f"{shown(word)} must be a number {described}")
        return value

    return read


_positive = _integer(1, math.inf, "a positive integer")
_port = _integer(0, 65535, "an integer from 0 to 65535")
_seed = _integer(0, 2**32 - 1, "an integer from 0 to 4294967295")
_share = _fraction(0.0, "of at least 0 and below 1, for example 0.01")
_part = _fraction(math.ulp(0.0), "above 0 and below 1, for example 0.3")
