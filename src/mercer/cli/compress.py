"""mercer compress: read a model file, compress the model, write it in one of four formats and report the loss."""

import argparse
import contextlib
import os
import tempfile
import warnings
from pathlib import Path

from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector

from mercer._common import PointsLike
from mercer._compute.memory import human_bytes
from mercer.cli import models, tables
from mercer.cli.failure import Failure, naming
from mercer.compression import compress, families
from mercer.estimators import TableClassifier
from mercer.formats import save, to_c, to_onnx, write_libsvm
from mercer.formats.files import replacing
from mercer.formats.quantised import CODED
from mercer.progress_bar import Progress


def run(options: argparse.Namespace, progress: Progress) -> str:
    """Compress the model that the options name, write it, and return the report with the path on its last line."""
    progress(f"reading {options.model}")
    found = models.read(options.model)
    _require_possible(found, options)
    output = Output(options.output, options.model, options.to, options.dtype)
    output.require_differs(options.model, options.data)
    with naming(options.model):
        trial = models.with_one_vector(found.source)
    output.rehearse(trial, options.model)
    X, y = _data(found, options.data, progress)
    progress(_task(options))
    names = options.model if options.data is None else f"{options.model} with {options.data}"
    with naming(names), warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("default")
        small = compress(
            found.source,
            X,
            y,
            n_vectors=options.vectors,
            max_loss=options.max_loss,
            holdout=options.holdout,
            random_state=options.seed,
            callback=progress.step,
        )
    progress(f"writing {output.path}")
    output.write(small, X)
    report = families.last_of(small).report_
    size = f"size of the file: {human_bytes(found.size)} before, {human_bytes(output.path.stat().st_size)} after"
    if report.vectors_after == report.vectors_before:
        size += "; the model keeps all its vectors, give fewer --vectors for a smaller file"
    text = str(report).replace("give holdout=", "give --holdout ")
    # the words of the command, not those of Python
    notes = [
        str(each.message).replace("give X and y with", "give --data FILE with labels, for")
        for each in noted
    ]
    return "\n".join([text, size, *notes, str(output.path)])


def _require_possible(found, options):
    """Raise a Failure for options that do not fit the model, before any work."""
    if hasattr(found.model, "steps") and options.to == "libsvm":
        steps = ", ".join(type(step).__name__ for _, step in found.model.steps)
        raise Failure(
            f"{found.path}: this is a pipeline ({steps}), and a libsvm file would hold only its last step; write --to "
            "mercer, --to c or --to onnx."
        )
    if hasattr(found.last, "calibrators_") and options.to == "libsvm":
        raise Failure(
            f"{found.path}: this model has calibrated probabilities, which a libsvm file cannot hold; write --to "
            "mercer, --to c or --to onnx."
        )
    if options.data is not None and found.n_features is None:
        raise Failure(
            f"{found.path}: the points of this model are objects, which data files do not hold; leave out --data, or "
            "use mercer.compress in Python."
        )
    if options.max_loss is not None and options.data is None:
        raise Failure("--max-loss needs data to measure the loss; give --data FILE")
    if options.holdout is not None and options.data is None:
        raise Failure("--holdout is a share of the rows of data; give --data FILE")
    if options.dtype in CODED and options.data is None:
        raise Failure(
            f"--dtype {options.dtype} refits the coefficients to the decision values of rows; give --data FILE"
        )


def _data(found, path, progress):
    """Return the rows and the labels or targets, None for each that is not given or not used."""
    if path is None:
        return None, None
    progress(f"reading {path}")
    data = tables.read_table(path, found.n_features, found.kind == models.TEXT_MODEL)
    last = found.last
    # decision values of a TableClassifier are approximated, not its labels
    by_values = is_outlier_detector(last) or isinstance(last, TableClassifier)
    if data.y is None or by_values or hasattr(last, "transform"):
        return data.X, None
    return data.X, tables.labels(data.y, last.classes_, path) if is_classifier(
        last
    ) else tables.targets(data.y, path)


def _task(options):
    if options.max_loss is None:
        return f"compressing to {options.vectors} vectors"
    return f"searching the smallest number of vectors that loses at most {options.max_loss:g} of the score"


# --- the file to write -----------------------------------------------------------------------------------------------


# Suffix of default names, and default dtype of each format that has a choice.
SUFFIXES = {"mercer": ".mercer", "libsvm": ".model", "onnx": ".onnx", "c": ".c"}
_DTYPES = {"onnx": "float32", "c": "float64"}


class Output:
    """A file to write: ``path``, or a new file beside the model if it is None, in one of the formats of `SUFFIXES`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.cli.compress import Output
    >>> Output(None, Path(tempfile.mkdtemp()) / "svm.model", "onnx").path.name
    'svm-compressed.onnx'
    """

    def __init__(
        self, path: Path | None, beside: Path, form: str, dtype: str | None = None
    ) -> None:
        self.path: Path = (
            beside.with_name(f"{beside.stem}-compressed{SUFFIXES[form]}") if path is None else path
        )
        self._form = form
        self._dtype = dtype or _DTYPES.get(form)
        if dtype is not None and form not in _DTYPES:
            raise Failure(
                f"--dtype {dtype} is for --to onnx and --to c; a {form} file keeps the dtype of the model."
            )
        if path is None and self.path.exists():
            raise Failure(
                f"{self.path}: this file exists already; to replace it, name it: -o {self.path}"
            )
        other = next(
            (
                each
                for each, suffix in SUFFIXES.items()
                if suffix == self.path.suffix and each != form
            ),
            None,
        )
        if other is not None:
            raise Failure(
                f"{self.path}: this is the suffix of --to {other}, but the format is {form}; add --to {other}, or name "
                f"a file with another suffix: -o {self.path.with_suffix(SUFFIXES[form])}"
            )
        if self.path.is_dir():
            raise Failure(
                f"{self.path}: this is a folder; name a file in it: -o {self.path / 'model'}{SUFFIXES[form]}"
            )

    def require_differs(self, *inputs: Path | None) -> None:
        """Raise a Failure if the file is one of the inputs (paths or None)."""
        for each in inputs:
            with contextlib.suppress(OSError):
                if each is not None and self.path.samefile(each):
                    raise Failure(
                        f"{self.path}: this file is an input; name another file to write: -o FILE"
                    )

    def rehearse(self, model: BaseEstimator, source: Path) -> None:
        """Raise a Failure unless the folder is writable and the model of the file ``source`` fits the format."""
        with naming(self.path.parent, "name a file in a writable folder: -o FILE"):
            # a file without a name, where the system has these
            tempfile.TemporaryFile(dir=self.path.parent).close()
        with naming(source, "--to mercer takes every model"):
            dtype = "float32" if self._dtype in CODED else self._dtype
            self._save(model, Path(os.devnull), dtype, None)

    def write(self, model: BaseEstimator, X: PointsLike | None = None) -> None:
        """Write a model, with points X or None for types of few bits; on an error an existing file is kept."""
        with naming(self.path):
            self._save(model, self.path, self._dtype, X)

    def _save(self, model, path, dtype, X):
        match self._form:
            case "mercer":
                save(model, path)
            case "libsvm":
                write_libsvm(model, path)
            case "c":
                to_c(model, path, dtype, X=X)
            case "onnx":
                content = to_onnx(model, dtype, X).SerializeToString()
                with replacing(path) as file:
                    file.write(content)
