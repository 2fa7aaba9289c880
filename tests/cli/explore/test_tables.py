import numpy as np
import pytest
from sklearn.decomposition import PCA

import mercer as mc
from mercer.cli.explore import tables
from mercer.cli.failure import Failure
from mercer.kernels.mapped import map_rows

ROWS = [f"{i / 7:.4f},{i % 5},{'ab'[i % 2]}" for i in range(12)]


@pytest.mark.parametrize("name", tables.BUILT_IN)
def test_the_code_of_a_table_gives_its_numbers(name):
    table, names = tables.built_in(name), {"np": np}
    exec(table.code, names)
    assert np.array_equal(names["X"], table.X)
    assert np.array_equal(names["y"], table.y)
    assert len(table.X) == len(table.y) <= 500


@pytest.mark.parametrize(
    "text", ["{}", "width,height,kind\n{}", "\ufeffwidth,height,kind\n\n{}\n\n", "\n{}\n"]
)
def test_the_code_of_an_upload_gives_its_numbers(text, data_url, tmp_path, monkeypatch):
    data = text.format("\n".join(ROWS)).encode()
    name = "a 'name' \"with\" quotes.csv"
    (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    key, table = tables.uploaded(data_url(data), name)
    names = {"np": np}
    exec(table.code, names)
    assert np.array_equal(names["X"], table.X)
    assert np.array_equal(names["y"], table.y)
    assert names["scaler"].inverse_transform(table.X)[:, 0] == pytest.approx(
        np.arange(12) / 7, abs=1e-4
    )
    assert key == tables.uploaded(data_url(data), "another name")[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file has no rows"),
        (b"a,b,c\n", "the file has no rows"),
        (b"1,2,a\n1,2,3,b\n", "row 2 has 4 columns, row 1 has 3"),
        (b"1,2,a\n1,x,b\n", "the first 2 columns must be numbers"),
        (b"1,nan,a\n1,2,b\n", "features must be finite"),
        (b"1\n2\n", "rows have one column"),
        (b"\xff\xfe\x00\x01,1,2", "a .csv file must be text"),
        (b"1,a\n2,b\n" * 3, "6 rows and 1 columns of features"),
        (b"1,2,a\n" * 5, "has 1 different values"),
        (b"1,2,a\n" * 5 + b"1,3,b\n" * 2, "the label 'b' has 2 rows"),
        (b"".join(b"%d,2,%d\n" % (i, i) for i in range(40)), "has 40 different values"),
        (b"1,2,a\n1,3,b\n" * 1001, "2002 rows"),
        (b"1," * 201 + b"a\n", "201 columns of features"),
        (b"1,2,a\n" * 400_000, "the file has 2.4 MB; the limit is 2.0 MB"),
    ],
)
def test_a_wrong_file_gives_one_sentence_without_its_temporary_path(data, message, data_url):
    with pytest.raises(Failure) as caught:
        tables.uploaded(data_url(data), "x.csv")
    assert message in str(caught.value)
    assert "table.csv" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("contents", ["", "None", "data:text/csv;base64,%%%", "data:;base64,abc"])
def test_an_upload_that_is_no_data_url_is_refused(contents):
    with pytest.raises(Failure, match=r"upload the file again|no rows"):
        tables.uploaded(contents, "x.csv")


def test_planes_are_pairs_of_columns_or_principal_components():
    assert list(tables.built_in("moons").planes()) == ["0,1"]
    iris = tables.built_in("iris")
    assert len(iris.planes()) == 1 + 6
    assert list(tables.built_in("digits").planes()) == [tables.PRINCIPAL]
    for key, points in {
        "1,3": iris.X[:, [1, 3]],
        tables.PRINCIPAL: PCA(2).fit_transform(iris.X),
    }.items():
        plane, names = iris.plane(key), {"X": iris.X, "np": np}
        np.testing.assert_allclose(map_rows(plane.A, iris.X), points, atol=1e-12)
        exec(plane.code, names)
        np.testing.assert_array_equal(eval(plane.points, names), map_rows(plane.A, iris.X))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("1 2", int),
        ("-1 0", int),
        ("1.0 2.", float),
        ("True False", bool),
        ("01 2", str),
        ("1.5 2.5", str),
        ("a 1", str),
    ],
)
def test_labels_have_the_type_that_they_are_written_in(words, kind, data_url):
    text = "".join(f"{i},{i % 5},{words.split()[i % 2]}\n" for i in range(12))
    y = tables.uploaded(data_url(text.encode()), "x.csv")[1].y
    assert y.dtype.kind == np.dtype(kind).kind
    assert mc.SVC().fit(np.eye(12), y).predict(np.eye(12)[:1]).dtype.kind == y.dtype.kind
