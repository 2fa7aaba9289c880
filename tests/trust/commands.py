"""The command ``mercer`` with files that are neither models nor data: one line of error, and never a traceback."""

import contextlib
import functools
import io
import os
import zipfile

import numpy as np
from tests.trust import data, scratch
from tests.trust.rules import Outcome

import mercer as mc
from mercer.cli import main
from mercer.formats import write_libsvm

LONGEST = 500


def _file(name, content):
    path = scratch.folder() / name
    path.write_bytes(content)
    return path


@functools.cache
def _model():
    path = scratch.folder() / "model"
    mc.save(mc.SVC(kernel=data.KERNEL).fit(data.X, data.TWO), path)
    return path


def _text_model():
    path = scratch.folder() / "model.txt"
    write_libsvm(mc.load(_model()), path)
    return path


def _fifo(name="fifo"):
    path = scratch.folder() / name
    os.mkfifo(path)
    return path


def _link():
    path = scratch.folder() / "loop"
    path.symlink_to(path)
    return path


def _unreadable():
    path = _file("unreadable", b"svm_type c_svc\n")
    path.chmod(0)
    return path


def _inflating(suffix):
    """Return an archive of a few MB that claims 8 GB of zeros."""
    path = scratch.folder() / f"big{suffix}"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**8, 10)}
    )
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as out,
    ):
        out.write(header.getvalue())
        for _ in range(40):
            out.write(bytes(2**24))
    return path


def _array(name, values):
    path = scratch.folder() / name
    np.save(path, values, allow_pickle=True)
    return path


MODELS = {
    "missing": lambda: scratch.folder() / "missing",
    "folder": scratch.folder,
    "fifo": _fifo,
    "zeros of the system": lambda: "/dev/zero",
    "noise of the system": lambda: "/dev/urandom",
    "null device": lambda: "/dev/null",
    "loop of links": _link,
    "unreadable": _unreadable,
    "empty": lambda: _file("empty", b""),
    "zeros": lambda: _file("zeros", bytes(4096)),
    "noise": lambda: _file("noise", np.random.default_rng(0).bytes(4096)),
    "pickle": lambda: _file("model.pkl", b"\x80\x04N."),
    "half a model": lambda: _file("half", _model().read_bytes()[:900]),
    "half a text model": lambda: _file("half.txt", _text_model().read_bytes()[:300]),
    "one line": lambda: _file("line", b"svm_type c_svc"),
    "latin text": lambda: _file("latin", "svm_type c_svc é\n".encode("latin-1")),
    "far index": lambda: _file(
        "far", _text_model().read_bytes().replace(b" 1:", b" 99999999999:", 1)
    ),
    "long line": lambda: _file("long", b"svm_type " + b"x" * 10**6),
    "zero byte in the name": lambda: "a\0b",
    "long name": lambda: "n" * 300,
}
DATA = {
    **{name: make for name, make in MODELS.items() if "model" not in name},
    "inflating archive": lambda: _inflating(".npz"),
    "archive of nothing": lambda: _file("data.npz", b"PK\x05\x06" + bytes(18)),
    "array of objects": lambda: _array("data.npy", np.array([{"a": 1}], object)),
    "array of three dimensions": lambda: _array("data.npy", np.zeros((2, 2, 2))),
    "array of text": lambda: _array("data.npy", np.array([["a", "b"]])),
    "array with NaN": lambda: _array("data.npy", np.full((5, 3), np.nan)),
    "array with too few columns": lambda: _array("data.npy", np.ones((5, 2))),
    "array of no rows": lambda: _array("data.npy", np.ones((0, 3))),
    "header of 80 TB": lambda: _huge_header(),
    "table with words": lambda: _file("data.csv", b"1,2,3\n4,word,6\n"),
    "table with ragged rows": lambda: _file("data.csv", b"1,2,3\n4,5\n"),
    "table with infinities": lambda: _file("data.csv", b"1,2,inf\n4,5,6\n"),
    "sparse text with a far index": lambda: _file("data.svm", b"1 99999999999:1\n0 1:1\n"),
    "sparse text with index 0": lambda: _file("data.svm", b"1 0:1\n0 1:1\n"),
    "sparse text with words": lambda: _file("data.svm", b"1 1:one\n"),
    "sparse text with NaN": lambda: _file("data.svm", b"1 1:nan\n0 2:1\n"),
    "fifo of an array": lambda: _fifo("data.npy"),
    "fifo of an archive": lambda: _fifo("data.npz"),
}
OUTPUTS = {
    "folder": scratch.folder,
    "in a missing folder": lambda: scratch.folder() / "missing" / "out",
    "below a file": lambda: _file("file", b"") / "out",
    "full device": lambda: "/dev/full",
    "zero byte in the name": lambda: "a\0b",
    "long name": lambda: "n" * 300,
    "empty": lambda: "",
}


def score(arguments):
    """Score one call of the command."""
    words = [str(word() if callable(word) else word) for word in arguments]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = end.code
        except BaseException as error:
            return Outcome("unclear", f"a traceback: {type(error).__name__}: {str(error)[:150]}")
    said = "\n".join(
        line for line in err.getvalue().splitlines() if not line.startswith("reading ")
    )
    if code == 0:
        return Outcome("silent", f"exit code 0: {out.getvalue()[:100]}")
    if "Traceback" in said or len(said) > LONGEST or not said:
        return Outcome("unclear", f"{len(said)} characters: {said[:150]}")
    return Outcome("ok", said[:200])


def all_commands():
    """Yield (name, arguments)."""
    for name, make in MODELS.items():
        yield f"info:model:{name}", ["info", make]
        yield f"compress:model:{name}", ["compress", make, "--vectors", "3"]
    for name, make in DATA.items():
        yield f"compress:data:{name}", ["compress", _model, "--data", make, "--vectors", "3"]
    for name, make in OUTPUTS.items():
        for format_ in ("mercer", "libsvm", "c", "onnx"):
            words = ["compress", _model, "--vectors", "3", "--to", format_, "--output", make]
            yield f"compress:output:{name}:{format_}", words
    for option, words in {
        "--vectors": ["0", "-1", "1.5", "word", "", "1e9"],
        "--max-loss": ["-0.1", "1", "nan", "inf", "word", ""],
        "--seed": ["-1", "1.5", "word", str(2**40)],
        "--to": ["pickle", ""],
        "--dtype": ["int8", "float128"],
    }.items():
        for word in words:
            yield (
                f"compress:{option}:{word}",
                ["compress", _model, "--vectors", "3", f"{option}={word}"],
            )


def _huge_header():
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10)}
    )
    return _file("data.npy", header.getvalue() + bytes(64))
