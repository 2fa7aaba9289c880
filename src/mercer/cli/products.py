"""What a command writes: a model in one of four formats, whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from mercer.cli.failure import Failure, naming

# Ending of a name that is made up, and how numbers are written where that is not said.
SUFFIXES = {"mercer": ".mercer", "libsvm": ".model", "onnx": ".onnx", "c": ".c"}
_TYPED = {"onnx": "float32", "c": "float64"}


class Product:
    """A file to be written.

    Parameters
    ----------
    path : Path or None
        None makes up a name beside the model: a file there is never replaced. One that was named is.
    beside : Path
        The model.
    form : str
        One of `SUFFIXES`.
    dtype : str or None
        Of ONNX and C.

    Raises
    ------
    Failure
        When nothing can be written there, before any work.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer.cli.products import Product
    >>> Product(None, Path(tempfile.mkdtemp()) / "svm.model", "onnx").path.name
    'svm-compressed.onnx'
    """

    def __init__(self, path, beside, form, dtype=None):
        self.path = beside.with_name(f"{beside.stem}-compressed{SUFFIXES[form]}") if path is None else path
        self._form, self._dtype = form, dtype or _TYPED.get(form)
        if dtype is not None and form not in _TYPED:
            raise Failure(f"--dtype {dtype} is for --to onnx and --to c; a {form} file keeps the numbers as they are.")
        if path is None and self.path.exists():
            raise Failure(f"{self.path}: this file is there already; name it to replace it: -o {self.path}")
        if self.path.is_dir():
            raise Failure(f"{self.path}: this is a folder; name a file in it: -o {self.path / 'model'}{SUFFIXES[form]}")

    def differs_from(self, *inputs):
        """Raise a Failure when the file is one of those that are read.

        Parameters
        ----------
        *inputs : Path or None
        """
        for each in inputs:
            with contextlib.suppress(OSError):
                if each is not None and self.path.samefile(each):
                    raise Failure(f"{self.path}: this file is read; give another name to write to: -o FILE")

    @contextlib.contextmanager
    def place(self):
        """Make a folder beside the file in which it is written first, and give a function that writes a model.

        Yields
        ------
        callable
            ``write(model, final=True)``: with ``final`` the file takes its name.
        """
        with naming(self.path.parent, "name a file in a folder that can be written to: -o FILE"):
            folder = tempfile.TemporaryDirectory(dir=self.path.parent, prefix=".mercer-")
        with folder as name:
            draft = Path(name) / "model"

            def write(model, final=True):
                _WRITERS[self._form](model, draft, self._dtype)
                if final:
                    with naming(self.path):
                        os.replace(draft, self.path)

            yield write


def _mercer(model, path, _dtype):
    from mercer.formats import save

    save(model, path)


def _libsvm(model, path, _dtype):
    from mercer.formats import write_libsvm

    write_libsvm(model, path)


def _onnx(model, path, dtype):
    from mercer.formats import to_onnx

    path.write_bytes(to_onnx(model, dtype=dtype).SerializeToString())


def _c(model, path, dtype):
    from mercer.formats import to_c

    to_c(model, path, dtype=dtype)


_WRITERS = {"mercer": _mercer, "libsvm": _libsvm, "onnx": _onnx, "c": _c}
