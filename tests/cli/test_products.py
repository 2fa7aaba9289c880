import os

import numpy as np
import pytest

import mercer as mc
from mercer.cli.failure import Failure
from mercer.cli.products import SUFFIXES, Product

X = np.array([[0.0], [1.0], [2.0]])


@pytest.fixture(scope="module")
def model():
    return mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, [0, 0, 1])


@pytest.mark.parametrize("form", SUFFIXES)
def test_a_name_that_is_made_up_stands_beside_the_model_and_is_never_replaced(form, tmp_path):
    product = Product(None, tmp_path / "a.b.model", form)
    assert product.path == tmp_path / f"a.b-compressed{SUFFIXES[form]}"
    product.path.write_text("")
    with pytest.raises(Failure, match=r"is there already; name it to replace it: -o "):
        Product(None, tmp_path / "a.b.model", form)
    assert Product(product.path, tmp_path / "a.b.model", form).path == product.path


def test_a_model_is_written_whole_and_replaces_what_was_named(model, tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    with Product(path, tmp_path / "m", "mercer").place() as write:
        write(model, final=False)
        assert path.read_text() == "old"
        write(model)
    assert np.array_equal(mc.load(path).decision_function(X), model.decision_function(X))
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_or_an_interrupt_leaves_no_trace(error, model, tmp_path):
    path = tmp_path / "out"
    path.write_text("old")

    def work():
        with Product(path, tmp_path / "m", "libsvm").place() as write:
            write(model, final=False)
            raise error

    with pytest.raises(error):
        work()
    assert os.listdir(tmp_path) == ["out"]
    assert path.read_text() == "old"


def test_a_text_model_predicts_the_same(model, tmp_path):
    with Product(tmp_path / "out", tmp_path / "m", "libsvm").place() as write:
        write(model)
    assert np.allclose(mc.as_expansion(tmp_path / "out")(X)[:, 0], model.decision_function(X), rtol=0, atol=1e-12)


def test_places_where_nothing_can_be_written_are_named_before_any_work(tmp_path):
    with pytest.raises(Failure, match="this is a folder"):
        Product(tmp_path, tmp_path / "m", "mercer")
    with (
        pytest.raises(Failure, match="No such file or directory.* -o FILE"),
        Product(tmp_path / "none" / "out", tmp_path / "m", "mercer").place(),
    ):
        pass
    with pytest.raises(Failure, match="--dtype float32 is for --to onnx and --to c"):
        Product(None, tmp_path / "m", "libsvm", "float32")


def test_what_is_read_is_not_written_over(tmp_path):
    (tmp_path / "m").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "m")
    for name in ("m", "link"):
        with pytest.raises(Failure, match="this file is read"):
            Product(tmp_path / name, tmp_path / "m", "mercer").differs_from(tmp_path / "m", None)
    Product(tmp_path / "new", tmp_path / "m", "mercer").differs_from(tmp_path / "m", None)
