"""The grammar of model files: values come back as they were, and nodes that no encoder writes are refused."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.formats.codec import Decoder, Encoder, Unstorable, shape_of

ARRAYS = [np.arange(3.0), np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.ones(3)]
LINEAR = {"record": ["Linear", {}]}


def there_and_back(value):
    """Return a value written as JSON and arrays, and read."""
    encoder = Encoder()
    node = json.loads(json.dumps(encoder.node(value, "it"), allow_nan=False))
    return Decoder(encoder.arrays).value(node)


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -(2**63), 2**64 - 1, 0.1, -0.0, 5e-324, float("nan"), float("-inf"), "", "\ud800\x00ä",
        np.float32(0.1), np.float64("inf"), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), (), [], {},
        (1, [2.0, ("a",)], {"b": None, 3: {}, 0.5: [()], True: 1}),
    ],
    ids=repr,
)  # fmt: skip
def test_plain_values_keep_their_type_and_content(value):
    again = there_and_back(value)
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<i2", "<u4", "<i8", "<f4", "<f8", "<U3"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4), (2, 1, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_keep_type_shape_and_order(dtype, shape, order):
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape), order=order).astype(dtype)
    again = there_and_back(array)
    assert (again.dtype, again.shape, again.strides) == (array.dtype, array.shape, array.strides)
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize(
    "array", [np.arange(12.0).reshape(3, 4)[::-1, ::2], np.arange(4.0)[::-1], np.arange(3, dtype=">f8")]
)
def test_views_and_other_byte_orders_come_back_with_their_values(array):
    np.testing.assert_array_equal(there_and_back(array), array)


def test_an_array_that_appears_twice_is_kept_once():
    array, encoder = np.arange(5.0), Encoder()
    node = encoder.node([array, array[:], array[:3], (array,)], "it")
    assert len(encoder.arrays) == 2
    first, second, _, (third,) = Decoder(encoder.arrays).value(node)
    assert first is second is third


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_keep_their_kind(make):
    rows = make(np.array([[0, 1.5, 0], [0, 0, 0], [2.0, 0, -1]]))
    again = there_and_back(rows)
    assert type(again) is type(rows)
    assert (again != rows).nnz == 0


def test_sparse_rows_with_repeated_entries_are_summed_in_the_file_only():
    rows = sp.csr_matrix((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), (1, 3))
    np.testing.assert_array_equal(there_and_back(rows).toarray(), [[0, 3, 0]])
    assert rows.nnz == 2


KERNELS = [
    mc.Gaussian(), mc.Gaussian(0.3), mc.Laplacian(0.1), mc.Matern("median", 0.5), mc.RationalQuadratic(1.0, 2.0),
    mc.Cauchy(0.4), mc.Linear(), mc.Polynomial(4, 0.5, 2.0), mc.Sigmoid(0.1, -1.0), mc.Chi2(0.5), mc.Intersection(),
    mc.Constant(2.0), mc.Precomputed(), mc.Precomputed(np.eye(3)), mc.Linear() ** 3, mc.Exp(mc.Linear()),
    mc.Normalized(mc.Polynomial(2)), 2 * mc.Linear() * mc.Gaussian(1.0) + 1, mc.Mapped(mc.Linear(), np.array([0, 2])),
    mc.Conformal(mc.Linear(), mc.Expansion(mc.Gaussian(1.0), np.eye(2), np.ones((2, 1)))),
    mc.Gaussian(np.float64(0.5)),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_every_kernel_of_closed_form_comes_back_equal(kernel):
    again = there_and_back(kernel)
    assert type(again) is type(kernel)
    if isinstance(kernel, mc.Conformal):
        points = np.array([[1.0, 2.0], [0.0, 1.0]])
        np.testing.assert_array_equal(again(points), kernel(points))
    else:
        assert again == kernel
        assert repr(again) == repr(kernel)


def test_expansions_come_back_with_their_points_and_coefficients():
    phi = mc.features(mc.Gaussian(0.5), np.arange(6.0, dtype=np.float32).reshape(3, 2))
    for psi in (phi, phi @ np.ones((3, 2), np.float32)):
        again = there_and_back(psi)
        assert again.kernel == psi.kernel
        assert (again.coef is None) == (psi.coef is None)
        np.testing.assert_array_equal(again(phi.points), psi(phi.points))


@pytest.mark.parametrize(
    "value",
    [
        object(), {1}, 1j, b"x", 2**64, print, lambda: 0, mc.FeatureMap(np.abs), mc.FunctionKernel(np.dot),
        np.array([1j]), np.array([1.0], "f2"), np.longdouble(1), np.datetime64(0, "s"), np.array([object()]),
        np.ma.masked_array([1.0], [True]), sp.coo_matrix(np.eye(2)), np.random.default_rng(0),
        sp.csr_matrix((1, 2**27)),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_other_values_are_refused_with_the_place_where_they_are(value):
    with pytest.raises(Unstorable, match=r"^model\.1\.inner(\.0)?: "):
        Encoder().node([0, {"inner": value}], "model")


@pytest.mark.parametrize(
    ("node", "complaint"),
    [
        ({}, "has 0 keys"),
        ({"array": 0, "tuple": []}, "has 2 keys"),
        ({"eval": "1"}, "no kind of value"),
        ({"array": 9}, "no array 9"),
        ({"array": -1}, "no array -1"),
        ({"array": True}, "no array True"),
        ({"float": "1.0"}, "must be one of"),
        ({"scalar": ["<f8", 1]}, "must be a float"),
        ({"scalar": ["|O", 1]}, "no dtype of a scalar"),
        ({"scalar": ["|i1", 300]}, "out of bounds"),
        ({"tuple": {}}, "must be a list"),
        ({"dict": [[1, 2, 3]]}, "has 3 parts"),
        ({"dict": [[1, 2], [1, 3]]}, "keys repeat"),
        ({"dict": [[[], 2]]}, "keys must be"),
        ({"objects": [[2], ["a"]]}, "cannot reshape"),
        ({"objects": [[-1], ["a"]]}, "is no shape"),
        ({"objects": [[1], [{"tuple": []}]]}, "strings or numbers"),
        ({"sparse": ["coo_matrix", [2, 3], {"array": 0}, {"array": 2}, {"array": 1}]}, "no kind of sparse rows"),
        ({"sparse": ["csr_matrix", [2, 3], {"array": 0}, {"array": 2}, {"array": 0}]}, "are integers"),
        ({"sparse": ["csr_matrix", [2, 3], {"array": 0}, {"array": 2}, {"array": 2}]}, "do not add up"),
        ({"sparse": ["csr_matrix", [2, 1], {"array": 0}, {"array": 2}, {"array": 1}]}, "outside of 0 to 0"),
        ({"sparse": ["csr_matrix", [2, 2**30], {"array": 0}, {"array": 2}, {"array": 1}]}, "columns, at most"),
        ({"sparse": ["csr_matrix", [5, 3], {"array": 0}, {"array": 2}, {"array": 1}]}, "do not add up"),
        ({"record": ["Gaussian", {"gamma": -1.0}]}, "gamma"),
        ({"record": ["Gaussian", {"sigma": 1.0}]}, "no field 'sigma'"),
        ({"record": ["Gaussian", [1.0]]}, "must be named"),
        ({"record": ["Kernel", {}]}, "no record"),
        ({"record": ["Sum", {"left": 1, "right": 2}]}, "must be a Kernel"),
        ({"record": ["Conformal", {"kernel": LINEAR, "c": "eval"}]}, "function"),
        (
            {"record": ["Conformal", {"kernel": {"record": ["Linear", {}]}, "c": {"record": ["Linear", {}]}}]},
            "expansion",
        ),
        ({"record": ["Precomputed", {"matrix": {"array": 0}}]}, "square"),
        ({"expansion": {"kernel": 1, "points": 2, "coef": 3}}, "must be a kernel"),
        ({"expansion": {"kernel": {"record": ["Linear", {}]}}}, "has a kernel, points and coef"),
        ({"estimator": ["SVC", {"D": 1}, {}]}, "no parameter 'D'"),
        ({"estimator": ["SVC", {"kernel": "rfb"}, {}]}, "none of"),
        ({"estimator": ["SVC", {}, {"fit": 1}]}, "no attribute 'fit'"),
        ({"pipeline": [[1, None]]}, "must have names"),
        ({"pipeline": []}, "must have a step"),
        ({"pipeline": [["a", 3]]}, "must be estimators"),
    ],
    ids=str,
)
def test_nodes_that_no_encoder_writes_are_refused(node, complaint):
    with pytest.raises((ValueError, TypeError, OverflowError), match=complaint):
        Decoder(ARRAYS).value(node)


def test_columns_of_sparse_rows_that_repeat_or_descend_are_refused():
    for indices in ([1, 1, 0], [1, 0, 0]):
        arrays = [np.arange(3.0), np.array(indices), np.array([0, 2, 3])]
        node = {"sparse": ["csr_matrix", [2, 3], {"array": 0}, {"array": 1}, {"array": 2}]}
        with pytest.raises(ValueError, match="repeat or descend"):
            Decoder(arrays).value(node)


@pytest.mark.parametrize("shape", [None, 3, [1.0], [True], [-1], [2**48], [1] * 9, ["1"]], ids=repr)
def test_shapes_are_a_few_sizes(shape):
    with pytest.raises(ValueError, match="is no shape"):
        shape_of(shape)
    assert shape_of([2, 0, 5]) == (2, 0, 5)
