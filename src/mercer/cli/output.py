"""The file that a command writes, in one of four formats."""

import contextlib
import os
import tempfile
from pathlib import Path

from sklearn.base import BaseEstimator

from mercer._common import PointsLike
from mercer.cli.failure import Failure, naming
from mercer.formats import save, to_c, to_onnx, write_libsvm
from mercer.formats.files import replacing
from mercer.formats.quantised import CODED

# Suffix of default names, and default dtype of each format that has a choice.
SUFFIXES = {"mercer": ".mercer", "libsvm": ".model", "onnx": ".onnx", "c": ".c"}
_DTYPES = {"onnx": "float32", "c": "float64"}


class Output:
    """A file to write: ``path``, or a new file beside the model if it is None, in one of the formats of `SUFFIXES`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.cli.output import Output
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
            _WRITERS[self._form](
                model, Path(os.devnull), "float32" if self._dtype in CODED else self._dtype, None
            )

    def write(self, model: BaseEstimator, X: PointsLike | None = None) -> None:
        """Write a model, with points X or None for types of few bits; on an error an existing file is kept."""
        with naming(self.path):
            _WRITERS[self._form](model, self.path, self._dtype, X)


def _write_onnx(model, path, dtype, X):
    content = to_onnx(model, dtype, X).SerializeToString()
    with replacing(path) as file:
        file.write(content)


_WRITERS = {
    "mercer": lambda model, path, _dtype, _X: save(model, path),
    "libsvm": lambda model, path, _dtype, _X: write_libsvm(model, path),
    "onnx": _write_onnx,
    "c": lambda model, path, dtype, X: to_c(model, path, dtype, X=X),
}
