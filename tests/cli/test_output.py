import os

import numpy as np
import pytest

import mercer as mc
from mercer.cli.compress import SUFFIXES, Output
from mercer.cli.failure import Failure

X = np.array([[0.0], [1.0], [2.0]])


@pytest.fixture(scope="module")
def model():
    return mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, [0, 0, 1])


@pytest.mark.parametrize("form", SUFFIXES)
def test_the_default_file_is_beside_the_model_and_never_replaced(form, tmp_path):
    output = Output(None, tmp_path / "a.b.model", form)
    assert output.path == tmp_path / f"a.b-compressed{SUFFIXES[form]}"
    output.path.write_text("")
    with pytest.raises(Failure, match=r"exists already; to replace it, name it: -o "):
        Output(None, tmp_path / "a.b.model", form)
    assert Output(output.path, tmp_path / "a.b.model", form).path == output.path


def test_a_rehearsal_leaves_no_trace_and_a_named_file_is_replaced(model, tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    output = Output(path, tmp_path / "m", "mercer")
    output.rehearse(model, "m")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]
    output.write(model)
    assert np.array_equal(mc.load(path).decision_function(X), model.decision_function(X))
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize(
    "error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk full", "Ctrl-C"]
)
@pytest.mark.parametrize("form", SUFFIXES)
def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(
    form, error, model, tmp_path, failing
):
    if form == "onnx":
        pytest.importorskip("onnx", reason="onnx is not installed")
    path = tmp_path / "out"
    path.write_text("old")

    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else Failure
    with failing("fsync", error), pytest.raises(expected):
        Output(path, tmp_path / "m", form).write(model)
    assert os.listdir(tmp_path) == ["out"]
    assert path.read_text() == "old"


def test_a_model_that_does_not_fit_the_format_is_named_in_the_rehearsal(tmp_path):
    named = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, ["a", "a", "b"])
    with pytest.raises(Failure, match="^m: .*label.*; --to mercer takes every model$"):
        Output(tmp_path / "out", tmp_path / "m", "libsvm").rehearse(named, "m")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("form", "dtype", "word"), [("c", None, "double"), ("c", "float32", "float")]
)
def test_c_files_have_the_dtype_asked_for(form, dtype, word, model, tmp_path):
    Output(tmp_path / "out.c", tmp_path / "m", form, dtype).write(model)
    assert f"void model_scores(const {word} *x" in (tmp_path / "out.c").read_text()


@pytest.mark.parametrize(("dtype", "kind"), [(None, 1), ("float64", 11)])
def test_onnx_files_have_the_dtype_asked_for(dtype, kind, model, tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    Output(tmp_path / "out", tmp_path / "m", "onnx", dtype).write(model)
    assert onnx.load(tmp_path / "out").graph.input[0].type.tensor_type.elem_type == kind


def test_a_text_model_predicts_the_same(model, tmp_path):
    Output(tmp_path / "out", tmp_path / "m", "libsvm").write(model)
    assert np.allclose(
        mc.as_expansion(tmp_path / "out")(X)[:, 0], model.decision_function(X), rtol=0, atol=1e-12
    )


def test_outputs_that_cannot_be_written_are_refused_before_any_work(tmp_path):
    with pytest.raises(Failure, match="this is a folder"):
        Output(tmp_path, tmp_path / "m", "mercer")
    with pytest.raises(Failure, match="No such file or directory.* -o FILE"):
        Output(tmp_path / "none" / "out", tmp_path / "m", "mercer").rehearse(None, "m")
    with pytest.raises(Failure, match="--dtype float32 is for --to onnx and --to c"):
        Output(None, tmp_path / "m", "libsvm", "float32")


@pytest.mark.parametrize(
    ("form", "name", "other"), [("mercer", "a.onnx", "onnx"), ("onnx", "a.c", "c")]
)
def test_the_suffix_of_another_format_is_refused(form, name, other, tmp_path):
    with pytest.raises(
        Failure,
        match=f"this is the suffix of --to {other}, but the format is {form}; add --to {other}",
    ):
        Output(tmp_path / name, tmp_path / "m", form)


def test_inputs_are_not_overwritten(tmp_path):
    (tmp_path / "m").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "m")
    for name in ("m", "link"):
        with pytest.raises(Failure, match="this file is an input"):
            Output(tmp_path / name, tmp_path / "m", "mercer").require_differs(tmp_path / "m", None)
    Output(tmp_path / "new", tmp_path / "m", "mercer").require_differs(tmp_path / "m", None)
