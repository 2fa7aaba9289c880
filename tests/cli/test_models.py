import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import mercer as mc
from mercer.cli.failure import Failure
from mercer.cli.models import MODEL_FILE, TEXT_MODEL, read, with_one_vector
from mercer.formats import write_libsvm

X = np.random.default_rng(0).normal(size=(30, 3))
y = (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def model():
    return mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)


def test_both_kinds_of_file_give_the_same_decision_values(model, tmp_path):
    mc.save(model, tmp_path / "a")
    write_libsvm(model, tmp_path / "b")
    ours, text = read(tmp_path / "a"), read(tmp_path / "b")
    assert (ours.kind, text.kind) == (MODEL_FILE, TEXT_MODEL)
    for each in (ours, text):
        assert each.size == each.path.stat().st_size
        assert each.n_features == 3
        assert each.classes.tolist() == [0, 1]
        values = each.model.decision_function(X)
        assert np.allclose(values, model.decision_function(X), rtol=0, atol=1e-12)


def test_of_a_pipeline_the_first_step_knows_the_columns_and_the_last_the_classes(tmp_path):
    mc.save(make_pipeline(StandardScaler(), MinMaxScaler(), mc.SVC()).fit(X, y), tmp_path / "p")
    found = read(tmp_path / "p")
    assert isinstance(found.last, mc.SVC)
    assert (found.n_features, found.classes.tolist()) == (3, [0, 1])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        (pickle.dumps(1), "pickle"),
        (b"\xff\xfe\x00junk", "neither a Mercer model file nor a LIBSVM text model"),
        (b"", "line 2: 'SV'|name a Mercer model file or a LIBSVM text model"),
        (b"1,2,3\n", "line 1: '1,2,3' is not a LIBSVM header line"),
    ],
)
def test_other_files_are_refused_by_name(content, words, tmp_path):
    path = tmp_path / "model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Failure, match=words) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_damaged_model_file_is_refused(model, tmp_path):
    path = tmp_path / "model"
    mc.save(model, path)
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(Failure, match="checksum"):
        read(path)
    with pytest.raises(Failure, match="this is a folder"):
        read(tmp_path)


def test_the_model_of_one_vector_is_of_the_same_class(model):
    small = with_one_vector(model)
    assert type(small) is mc.SVC
    assert small.expansion_.shape == (1, 1)
    assert small.predict(X).shape == (30,)
    with pytest.raises(TypeError, match="cannot be written with other vectors"):
        with_one_vector(mc.Gaussian(1.0))
