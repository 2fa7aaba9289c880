from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from mercer.cli.failure import Failure
from mercer.cli.tables import labels, listed, read_table, targets

X = np.array([[1.0, 2.0, 0.5], [3.0, 0.0, 0.0], [5.0, 6.0, 0.0]])
y = np.array([0, 1, 1])


def _write(path):
    if path.suffix == ".npz":
        np.savez(path, X=X, y=y)
    elif path.suffix == ".csv":
        path.write_text(
            "\n".join(",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True))
        )
    else:
        dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.txt", "a"])
def test_every_kind_of_file_gives_the_same_rows_and_labels(name, tmp_path):
    found = read_table(_write(tmp_path / name), 3)
    values = found.X.toarray() if sp.issparse(found.X) else found.X
    assert np.array_equal(values, X)
    assert np.array_equal(labels(found.y, np.array([0, 1]), name), y)


def test_rows_alone_have_no_labels(tmp_path):
    np.save(tmp_path / "a.npy", X)
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,0.5\n3,0,0\n5,6,0\n")
    for name in ("a.npy", "a.csv"):
        found = read_table(tmp_path / name, 3)
        assert np.array_equal(found.X, X)
        assert found.y is None


def test_the_last_column_is_the_label_where_the_number_of_features_is_not_known(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,0.5\n3,0,0\n")
    found = read_table(tmp_path / "a.csv", 1, at_least=True)
    assert found.X.shape == (2, 2)
    assert found.y.tolist() == ["0.5", "0"]


def test_commas_and_marks_within_quotation_marks_are_text(tmp_path):
    (tmp_path / "a.csv").write_text(
        '"width, mm",height,kind\n1,"2.5","cup, small"\n3,"4","""plain"" cup"\n5,6, mug \n7,8,"open\n'
    )
    found = read_table(tmp_path / "a.csv", 2)
    assert found.X.tolist() == [[1, 2.5], [3, 4], [5, 6], [7, 8]]
    assert found.y.tolist() == ["cup, small", '"plain" cup', "mug", "open"]


def test_a_mark_that_is_not_closed_ends_with_its_row(tmp_path):
    (tmp_path / "a.csv").write_text('1,2,"one\n3,4,two\n5,6,"one\n7,8,two\n')
    found = read_table(tmp_path / "a.csv", 2)
    assert found.X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert found.y.tolist() == ["one", "two", "one", "two"]


def test_a_first_row_of_numbers_in_quotation_marks_is_data(tmp_path):
    (tmp_path / "a.csv").write_text('"1",2,"3"\n"4","5","6"\n')
    assert read_table(tmp_path / "a.csv", 3).X.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_byte_order_mark_is_no_part_of_the_first_value(tmp_path):
    for name, content in {"a.csv": "1,2,0.5,4\n", "a.txt": "4 1:1 2:2 3:0.5\n"}.items():
        (tmp_path / name).write_text(content, encoding="utf-8-sig")
        found = read_table(tmp_path / name, 3)
        rows = found.X.toarray() if sp.issparse(found.X) else found.X
        assert rows.tolist() == [[1, 2, 0.5]]
        assert labels(found.y, np.array([4, 5]), name).tolist() == [4]


def test_trailing_zeros_of_libsvm_rows_come_back(tmp_path):
    (tmp_path / "a").write_text("1 1:2\n0 2:1\n")
    assert read_table(tmp_path / "a", 5).X.shape == (2, 5)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"1,2\n3,4\n", r"rows have 1 features, the model has 3"),
        (
            "a.csv",
            b"1,2,3,0\n1,2,0\n",
            "row 2 has 3 columns, row 1 has 4; separate columns by commas",
        ),
        (
            "a.csv",
            b"a,b,c,label\n1,2,3,0\n1,2,,0\n",
            "row 3, column 3 is ''; the first 3 columns must be numbers",
        ),
        (
            "a.csv",
            b"1,2,3,0\n1,x,3,0\n",
            "row 2, column 2 is 'x'; the first 3 columns must be numbers",
        ),
        (
            "a.csv",
            b",2,3,0\n1,2,3,0\n",
            "row 1, column 1 is ''; the first 3 columns must be numbers",
        ),
        (
            "a.csv",
            b'"1,5",2,3\n1,2,3\n',
            "row 1, column 1 is '1,5'; the first 3 columns must be numbers",
        ),
        ("a.csv", b"a,b,c,d\n", "the file has no rows"),
        ("a.csv", b"", "the file has no rows"),
        ("a.csv", b"1;2;3;0\n1;2;3;1\n", "separate features by commas"),
        (
            "a.csv",
            b"1,2,3,0\n1,nan,3,0\n",
            "row 2 of the data has nan in column 2; features must be finite",
        ),
        (
            "a.csv",
            b"1,2,1e400,0\n",
            "row 1 of the data has inf in column 3; .* numbers beyond 1.8e308",
        ),
        ("a.csv", b"\xff\xfe1,2", "must be text with columns separated by commas"),
        ("a.npz", b"junk", r"this is not a file of NumPy arrays"),
        ("a.npy", b"junk", r"an .npy file one array of rows"),
        ("a.txt", b"1,2,3,0\n", "label index:value .*the suffix states other kinds"),
        ("a.txt", b"1 0:3\n", "label index:value"),
        ("a.txt", b"", "no rows|label index:value"),
        ("a.txt", b"1 9:3\n", "rows have 9 features, the model has 3"),
        ("none.csv", None, "No such file"),
        ("none.txt", None, "No such file"),
    ],
)
def test_wrong_data_are_refused_with_the_name_of_the_file(name, content, words, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Failure, match=words) as caught:
        read_table(path, 3)
    assert str(caught.value).startswith(f"{path}: ")


def test_arrays_that_are_not_rows_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", Z=X)
    with pytest.raises(Failure, match=r"has the arrays \['Z'\]"):
        read_table(tmp_path / "a.npz", 3)
    np.savez(tmp_path / "a.npz", X=X, y=y[:2])
    with pytest.raises(Failure, match="3 rows and 2 labels"):
        read_table(tmp_path / "a.npz", 3)
    np.save(tmp_path / "a.npy", X[0])
    with pytest.raises(Failure, match=r"shape \(3,\)"):
        read_table(tmp_path / "a.npy", 3)
    np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object))
    with pytest.raises(Failure, match="allow_pickle"):
        read_table(tmp_path / "a.npy", 3)
    with pytest.raises(Failure, match="this is a folder"):
        read_table(tmp_path, 3)


@pytest.mark.parametrize(
    ("given", "classes", "expected"),
    [
        (np.array([3.0, -1.0]), np.array([-1, 3]), [3, -1]),
        (np.array(["3", "-1.0"]), np.array([-1, 3]), [3, -1]),
        (np.array([3, -1]), np.array([-1.0, 3.0]), [3.0, -1.0]),
        (np.array(["b", "a", "b"]), np.array(["a", "b"]), ["b", "a", "b"]),
        (np.array([1, 0]), np.array(["0", "1"]), ["1", "0"]),
        (np.array([1.0, 0.0]), np.array(["0", "1", "rest"]), ["1", "0"]),
        (np.array(["True"]), np.array([False, True]), [True]),
    ],
)
def test_labels_are_the_classes_that_they_mean(given, classes, expected):
    found = labels(given, classes, "file")
    assert found.tolist() == expected
    assert found.dtype == classes.dtype


def test_an_unknown_label_is_shown_beside_the_classes():
    with pytest.raises(
        Failure, match=r"^a.csv: the label '7' must be a class of the model, 0, 1; .*last column"
    ):
        labels(np.array(["0", "7"]), np.array([0, 1]), Path("a.csv"))
    with pytest.raises(Failure, match=r"one label per row"):
        labels(np.zeros((2, 2)), np.array([0, 1]), "a.csv")


def test_targets_are_numbers():
    assert targets(np.array(["1.5", "2"]), "file").tolist() == [1.5, 2.0]
    with pytest.raises(Failure, match="targets must be numbers"):
        targets(np.array(["1.5", "two"]), "file")
    with pytest.raises(Failure, match="targets must be finite"):
        targets(np.array([np.nan]), "file")


def test_a_long_list_of_classes_is_cut():
    assert listed(np.arange(3)) == "0, 1, 2"
    assert listed(np.arange(100)) == "0, 1, 2, 3, 4, 5, 6, ... 99"
    assert listed(np.array(["a\x1b[2J", "b"])) == r"'a\x1b[2J', 'b'"


@pytest.mark.parametrize(
    "y", [np.array(5), np.array([1j, 2j]), np.array(["2020-01-01"] * 2, "M8[D]")], ids=str
)
def test_labels_that_are_neither_numbers_nor_texts_are_refused(y, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.eye(2), y=y)
    with pytest.raises(
        Failure, match="data.npz: y has shape .*; it must be numbers or texts, one per row"
    ):
        read_table(path, 2)
