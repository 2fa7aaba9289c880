"""Reading nodes: they have the values that the format states, and nodes that no encoder writes are refused."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import mercer as mc
from mercer.formats.codec import Decoder, shape_of
from mercer.invariance import Thickening

ARRAYS = [np.arange(3.0), np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.ones(3)]
LINEAR = {"record": ["Linear", {}]}
THICKER = {"record": ["Thickening", {"shape": {"tuple": [2, 3]}}]}


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (None, None),
        ([1, 0.5, "a", [True]], [1, 0.5, "a", [True]]),
        ({"float": "-inf"}, -np.inf),
        ({"scalar": ["<f4", 0.1]}, np.float32(0.1)),
        ({"scalar": ["<f8", {"float": "inf"}]}, np.float64("inf")),
        ({"scalar": ["|u1", 255]}, np.uint8(255)),
        ({"scalar": ["|b1", True]}, np.bool_(True)),
        ({"tuple": [1, {"tuple": []}]}, (1, ())),
        ({"dict": [["a", 1], [2, None]]}, {"a": 1, 2: None}),
        ({"dict": [[{"tuple": ["a", 1]}, 2], [{"bytes": "61"}, 3]]}, {("a", 1): 2, b"a": 3}),
        (LINEAR, mc.Linear()),
        (
            {
                "record": [
                    "Sum",
                    {"left": LINEAR, "right": {"record": ["Constant", {"value": 2.0}]}},
                ]
            },
            mc.Linear() + 2.0,
        ),
        ({"record": ["Gaussian", {}]}, mc.Gaussian()),
        ({"partial": [THICKER, [1], {"t": 0.5}]}, functools.partial(Thickening((2, 3)), 1, t=0.5)),
    ],
    ids=str,
)
def test_nodes_have_the_values_that_the_format_states(node, value):
    found = Decoder(ARRAYS).value(node)
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_nodes_of_arrays_and_points_refer_to_the_arrays_of_the_file():
    decoder = Decoder([*ARRAYS, np.ones((3, 1))])
    assert decoder.value({"array": 1}) is ARRAYS[1]
    objects = decoder.value({"objects": [[2, 1], ["a", 0.5]]})
    assert (objects.dtype, objects.tolist()) == (object, [["a"], [0.5]])
    rows = decoder.value(
        {"sparse": ["csr_array", [2, 3], {"array": 0}, {"array": 2}, {"array": 1}]}
    )
    assert type(rows) is sp.csr_array
    np.testing.assert_array_equal(rows.toarray(), [[0, 1, 0], [2, 0, 0]])
    points = {"sparse": ["csr_matrix", [3, 1], {"array": 3}, {"array": 2}, {"array": 1}]}
    with pytest.raises(ValueError, match="index pointer size 3 should be 4"):
        decoder.value(points)
    psi = decoder.value(
        {"expansion": {"kernel": LINEAR, "points": {"array": 4}, "coef": {"array": 4}}}
    )
    np.testing.assert_array_equal(psi(np.array([[2.0]])), [[6.0]])


@pytest.mark.parametrize(
    ("node", "complaint"),
    [
        ({}, "has 0 keys"),
        ({"array": 0, "tuple": []}, "has 2 keys"),
        ({"eval": "1"}, "is not a kind of value"),
        ({"array": 9}, "no array 9"),
        ({"array": -1}, "no array -1"),
        ({"array": True}, "no array True"),
        ({"float": "1.0"}, "must be one of"),
        ({"scalar": ["<f8", 1]}, "must be a float"),
        ({"scalar": ["|O", 1]}, "is not a dtype of scalars"),
        ({"scalar": ["|i1", 300]}, "out of bounds"),
        ({"scalar": ["|u1", -1]}, "out of bounds"),
        ({"tuple": {}}, "must be a list"),
        ({"dict": [[1, 2, 3]]}, "has 3 parts"),
        ({"dict": [[1, 2], [1, 3]]}, "keys repeat"),
        ({"dict": [[[], 2]]}, "keys must be"),
        ({"objects": [[2], ["a"]]}, "cannot reshape"),
        ({"objects": [[-1], ["a"]]}, "is not a shape"),
        ({"objects": [[1], [{"tuple": []}]]}, "strings or numbers"),
        (
            {"sparse": ["coo_matrix", [2, 3], {"array": 0}, {"array": 2}, {"array": 1}]},
            "is not a kind of sparse rows",
        ),
        (
            {"sparse": ["csr_matrix", [2, 3], {"array": 0}, {"array": 2}, {"array": 0}]},
            "must be integers",
        ),
        (
            {"sparse": ["csr_matrix", [2, 3], {"array": 0}, {"array": 2}, {"array": 2}]},
            "rows of a sparse matrix overlap",
        ),
        (
            {"sparse": ["csr_matrix", [2, 1], {"array": 0}, {"array": 2}, {"array": 1}]},
            "indices must be < 1",
        ),
        (
            {"sparse": ["csr_matrix", [2, 2**30], {"array": 0}, {"array": 2}, {"array": 1}]},
            "columns; they must have at most",
        ),
        (
            {"sparse": ["csr_matrix", [5, 3], {"array": 0}, {"array": 2}, {"array": 1}]},
            "index pointer size 3 should be 6",
        ),
        ({"record": ["Gaussian", {"gamma": -1.0}]}, "gamma"),
        ({"record": ["Gaussian", {"sigma": 1.0}]}, "Gaussian has no parameter sigma"),
        ({"record": ["Gaussian", [1.0]]}, "must be named"),
        ({"record": ["Kernel", {}]}, "is not a record"),
        ({"record": ["Sum", {"left": 1, "right": 2}]}, "must be a Kernel"),
        ({"record": ["Conformal", {"kernel": LINEAR, "c": "eval"}]}, "function"),
        (
            {
                "record": [
                    "Conformal",
                    {"kernel": {"record": ["Linear", {}]}, "c": {"record": ["Linear", {}]}},
                ]
            },
            "a function of two points",
        ),
        (
            {"record": ["Precomputed", {"matrix": {"array": 0}}]},
            "matrix X must have two dimensions",
        ),
        ({"expansion": {"kernel": 1, "points": 2, "coef": None}}, "must be a Kernel"),
        (
            {"expansion": {"kernel": {"record": ["Linear", {}]}}},
            "must have a kernel, points and coef",
        ),
        ({"estimator": ["SVC", {"D": 1}, {}]}, "SVC has no parameter D"),
        ({"estimator": ["SVC", {"kernel": "rfb"}, {}]}, "must be one of"),
        ({"estimator": ["SVC", {}, {"fit": 1}]}, "no attribute 'fit'"),
        ({"partial": [THICKER, [], {}, 1]}, "has 4 parts"),
        ({"partial": [LINEAR, [], {}]}, "must be of a transformation of images"),
        ({"partial": [THICKER, 1, {}]}, "arguments must be a list"),
        ({"partial": [THICKER, [], [1]]}, "must be named"),
        ({"pipeline": [[1, None]]}, "must have names"),
        ({"pipeline": []}, "must have a step"),
        ({"pipeline": [["a", 3]]}, "must be estimators"),
    ],
    ids=str,
)
def test_nodes_that_no_encoder_writes_are_refused(node, complaint):
    with pytest.raises((ValueError, TypeError, OverflowError), match=complaint):
        Decoder(ARRAYS).value(node)


def test_estimators_have_the_parameters_and_fitted_attributes_of_their_node():
    arrays = [np.array([1.0, 2.0]), np.array([[3.0, -1.0]]), np.array([0.5])]
    state = {"n_features_in_": 2, "coef_": {"array": 1}, "intercept_": {"array": 2}}
    model = Decoder(arrays).value({"estimator": ["Ridge", {"alpha": 0.25}, state]})
    assert (type(model), model.alpha, model.n_features_in_) == (Ridge, 0.25, 2)
    np.testing.assert_array_equal(model.predict([[1.0, 1.0]]), [[2.5]])
    for name in ("scorer_", "_skl_callbacks"):
        with pytest.raises(ValueError, match=f"no attribute {name!r} that a file may set"):
            Decoder(arrays).value({"estimator": ["SVCCV", {}, {name: 1}]})


def test_steps_of_a_pipeline_keep_their_names():
    state = {"n_features_in_": 1, "coef_": {"array": 0}, "intercept_": 0.5}
    node = {"pipeline": [["first", "passthrough"], ["last", {"estimator": ["Ridge", {}, state]}]]}
    model = Decoder([np.array([2.0])]).value(node)
    assert [name for name, _ in model.steps] == ["first", "last"]
    np.testing.assert_array_equal(model.predict([[3.0]]), [6.5])


@pytest.mark.parametrize(
    ("data", "indices", "indptr", "complaint"),
    [
        (3, [0, 1, 0], [0, 2, 2], "do not add up"),
        (3, [0, 1], [0, 2, 2], "same size"),
        (3, [0, 1, 0], [0, 2, 4], "Last value of index pointer"),
        (3, [0, 1, 0], [1, 2, 3], "should start with 0"),
        (3, [0, -1, 0], [0, 2, 3], "must be >= 0"),
        (0, [], [0, 5, 0], "overlap"),
        (0, [], [0, -5, 0], "overlap"),
        (3, [[0, 1, 0]], [0, 2, 3], "1-D"),
        (3, 0, [0, 2, 3], "1-D|len"),
    ],
)
def test_sparse_rows_that_do_not_fit_together_are_refused(data, indices, indptr, complaint):
    arrays = [np.ones(data), np.array(indices, np.int64), np.array(indptr)]
    node = {"sparse": ["csr_matrix", [2, 3], {"array": 0}, {"array": 1}, {"array": 2}]}
    with pytest.raises((ValueError, TypeError), match=complaint):
        Decoder(arrays).value(node)
    with pytest.raises((ValueError, AttributeError)):
        Decoder([]).value({"sparse": ["csr_array", [1, 1], [1.0], [0], [0, 1]]})


def test_columns_of_sparse_rows_that_repeat_or_descend_are_refused():
    for indices in ([1, 1, 0], [1, 0, 0]):
        arrays = [np.arange(3.0), np.array(indices), np.array([0, 2, 3])]
        node = {"sparse": ["csr_matrix", [2, 3], {"array": 0}, {"array": 1}, {"array": 2}]}
        with pytest.raises(ValueError, match="repeat or descend"):
            Decoder(arrays).value(node)


@pytest.mark.parametrize("shape", [None, 3, [1.0], [True], [-1], [2**48], [1] * 9, ["1"]], ids=repr)
def test_shapes_are_a_few_sizes(shape):
    with pytest.raises(ValueError, match="is not a shape"):
        shape_of(shape)
    assert shape_of([2, 0, 5]) == (2, 0, 5)
    assert shape_of([1] * 7 + [2**48 - 1]) == (1,) * 7 + (2**48 - 1,)
    assert shape_of([2**20, 0]) == (2**20, 0)
    assert shape_of([0, 2**26]) == (0, 2**26)


@pytest.mark.parametrize("shape", [[2**30, 0], [1, 2**30, 0], [2**10, 2**11, 0, 1]], ids=repr)
def test_rows_without_entries_are_few_as_each_may_take_memory(shape):
    with pytest.raises(ValueError, match="an array without entries has"):
        Decoder([]).value({"objects": [shape, []]})


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"points": []}, "at least one point"),
        ({"points": ["a", None]}, r"points\[1\] is None"),
        ({"points": "ab"}, "points must be a list"),
        ({"table": [[], None]}, "columns of one length"),
        ({"table": [[{"points": ["a"]}, {"points": ["a", "b"]}], None]}, "columns of one length"),
        ({"table": [[["a"]], None]}, "a column must hold numbers or objects"),
        ({"table": [[{"points": ["a"]}], ["x", "y"]]}, "names has 2 parts; it must have 1"),
        ({"set": ["a", "a"]}, "members of a set repeat"),
        ({"set": [["a"]]}, "unhashable"),
        ({"bytes": 3}, "bytes must be hexadecimal digits"),
        ({"bytes": "xy"}, "hexadecimal"),
    ],
    ids=range(11),
)
def test_points_tables_sets_and_bytes_are_checked(node, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Decoder([]).value(node)
