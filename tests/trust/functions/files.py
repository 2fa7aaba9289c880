"""Files of models: written, read, described."""

import functools

from tests.trust import data, scratch
from tests.trust.calls import call
from tests.trust.functions.valid import KERNEL, MEMORY, ROWS, SVC, svc, valid

import mercer as mc
from mercer.formats import model_card, to_c, to_onnx, write_libsvm

FILES = [
    call("save", mc.save, model=SVC, path=("path", lambda: str(scratch.folder() / "model"))),
    call("load", mc.load, path=("path", lambda: _saved()), memory=MEMORY),
    call(
        "formats.to_c",
        to_c,
        model=SVC,
        path=("path", lambda: str(scratch.folder() / "model.c")),
        dtype=valid("choice", "int8"),
        X=ROWS,
        prefix=valid("identifier", "model"),
    ),
    call(
        "formats.to_onnx",
        lambda **o: to_onnx(**o).SerializeToString(),
        model=SVC,
        dtype=valid("choice", "int8"),
        X=ROWS,
    ),
    call(
        "formats.write_libsvm",
        write_libsvm,
        model=SVC,
        path=("path", lambda: str(scratch.folder() / "model.txt")),
    ),
    call("formats.model_card", model_card, model=SVC),
    call(
        "checkpoint",
        lambda path, every: _with_checkpoint(path, every),
        path=("path", lambda: str(scratch.folder() / "state")),
        every=valid("nonnegative", 60.0),
    ),
    call("as_expansion", lambda fitted: mc.as_expansion(fitted), fitted=SVC),
]


def _with_checkpoint(path, every):
    with mc.checkpoint(path, every=every):
        return mc.KernelRidge(0.1, kernel=KERNEL, memory="1kB").fit(data.X, data.TARGETS).dual_coef_


@functools.cache
def _saved():
    path = scratch.folder() / "model"
    mc.save(svc(), path)
    return str(path)
