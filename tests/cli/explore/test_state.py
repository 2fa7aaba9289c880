import numpy as np
import pytest

import mercer as mc
from mercer.cli.explore import state, tables
from mercer.cli.failure import Failure

CSV = b"1,2,a\n2,1,b\n" * 12


@pytest.fixture
def session():
    return state.Session()


@pytest.fixture
def computed_by(monkeypatch):
    """Return a function that replaces the computation of the view of a spectrum."""
    return lambda run: monkeypatch.setattr(type(state.VIEWS["spectrum"]), "run", run)


def test_an_answer_has_a_figure_facts_and_code(session, choose):
    answer = session.answer(choose("spectrum"))
    assert answer.message == ""
    assert len(set(answer.pictures)) == 2
    assert answer.facts[-1].startswith("computed in ")
    assert "mc.Gaussian(gamma=1.0)" in answer.code


def test_the_same_choice_is_computed_once(session, choose, computed_by):
    first = session.answer(choose("spectrum"))
    computed_by(pytest.fail)
    assert session.answer(choose("spectrum")).facts == first.facts


def test_an_error_of_the_computation_is_a_message_without_a_trace(session, choose):
    answer = session.answer(choose("geometry", first=("Laplacian", 0.0, 3)))
    assert answer.message.startswith("Laplacian(gamma=1.0) has no derivatives")
    assert (answer.pictures, answer.facts) == ((), [])


def test_a_fault_is_named_and_logged(session, choose, computed_by, caplog):
    def broken(*_):
        raise KeyError("secret")

    computed_by(broken)
    answer = session.answer(choose("spectrum"))
    assert answer.message.startswith("The computation failed with KeyError;")
    assert "secret" not in answer.message
    assert "a view failed" in caplog.text


def test_unknown_views_tables_and_planes_are_messages(session, choose):
    assert "view = '../x' must be one of boundary," in session.answer(choose("../x")).message
    forgotten = session.answer(choose("spectrum", "csv-0")).message
    assert "'csv-0' is not in memory; choose another one, or upload it again" in forgotten
    assert (
        "plane = '0,7' must be one of 0,1"
        in session.answer(choose("boundary", plane="0,7")).message
    )


def test_only_the_last_uploads_are_kept(session, data_url):
    keys = [session.upload(data_url(CSV + b"3,%d,a\n" % i), f"{i}.csv") for i in range(10)]
    assert list(session.names().values()) == [*tables.BUILT_IN, *(f"{i}.csv" for i in range(2, 10))]
    with pytest.raises(Failure, match="upload it again"):
        session.table(keys[0])
    assert session.table(keys[9]).name == "9.csv"


def test_the_model_of_an_upload_is_saved_with_its_scaling(session, data_url, choose, tmp_path):
    key = session.upload(data_url(CSV), "x.csv")
    session.model(choose("vectors", key), tmp_path / "m")
    assert mc.load(tmp_path / "m").predict([[1.0, 2.0], [2.0, 1.0]]).tolist() == ["a", "b"]


def test_a_view_without_a_model_has_none_to_save(session, choose, tmp_path):
    with pytest.raises(Failure, match="this view has no model"):
        session.model(choose("spectrum"), tmp_path / "m")


@pytest.mark.parametrize("view", ["boundary", "vectors"])
def test_the_file_of_an_upload_takes_its_rows_as_they_are_and_has_its_labels(
    session, data_url, choose, tmp_path, view, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    rows = rng.normal([100.0, -3000.0], [1.0, 400.0], (60, 2))
    labels = 3 + (rows[:, 1] > -3000.0).astype(int)
    text = "".join(
        f"{a!r},{b!r},{label}\n"
        for (a, b), label in zip(rows.tolist(), labels.tolist(), strict=True)
    )
    session.model(
        choose(view, table=session.upload(data_url(text.encode()), "x.csv"), plane="0,1"),
        tmp_path / "m",
    )
    model = mc.load(tmp_path / "m")
    assert model.predict(rows).dtype.kind == "i"
    assert model.score(rows, labels) > 0.9
