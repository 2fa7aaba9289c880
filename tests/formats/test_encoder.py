"""Writing values: they come back as they were, arrays are kept once, and values without a node are refused."""

import functools
import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
from tests.reference.structured import STRUCTURED

import mercer as mc
from mercer.formats.codec import Decoder, Encoder, Unstorable
from mercer.invariance import Thickening

SHAPE = {"shape": {"tuple": [2, 3]}, "background": 0.5}
THICKER = Thickening((2, 3), 0.5)


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
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape), order=order).astype(
        dtype
    )
    again = there_and_back(array)
    assert (again.dtype, again.shape, again.strides) == (array.dtype, array.shape, array.strides)
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize(
    "array",
    [np.arange(12.0).reshape(3, 4)[::-1, ::2], np.arange(4.0)[::-1], np.arange(3, dtype=">f8")],
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
    mc.Rescaled(mc.Linear(), mc.Expansion(mc.Gaussian(1.0), np.eye(2), np.ones((2, 1)))),
    mc.Gaussian(np.float64(0.5)),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_every_kernel_of_closed_form_comes_back_equal(kernel):
    again = there_and_back(kernel)
    assert type(again) is type(kernel)
    if isinstance(kernel, mc.Rescaled):
        points = np.array([[1.0, 2.0], [0.0, 1.0]])
        np.testing.assert_array_equal(again(points), kernel(points))
    else:
        assert again == kernel
        assert repr(again) == repr(kernel)


@pytest.mark.parametrize("name", STRUCTURED)
def test_kernels_on_objects_come_back_equal(name):
    kernel, _ = STRUCTURED[name]
    again = there_and_back(kernel)
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
        object(), 1j, {1j}, 2**64, print, lambda: 0, mc.FeatureMap(np.abs), mc.FunctionKernel(np.dot),
        functools.partial(print, 1), functools.partial(mc.Gaussian(1.0)),
        np.array([1j]), np.array([1.0], "f2"), np.array([1.0], np.longdouble),
        np.longdouble(1), np.datetime64(0, "s"), np.array([object()]),
        np.ma.masked_array([1.0], [True]), sp.coo_matrix(np.eye(2)), np.random.default_rng(0),
        sp.csr_matrix((1, 2**27)),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_other_values_are_refused_with_the_place_where_they_are(value):
    with pytest.raises(Unstorable, match=r"^model\.1\.inner(\.0)?: "):
        Encoder().node([0, {"inner": value}], "model")


def test_the_nodes_of_values_are_the_documented_ones():
    encoder = Encoder()
    kernel = {"record": ["Gaussian", {"gamma": 0.5}]}
    for value, node in [
        ([None, True, 3, 0.5, "a"], [None, True, 3, 0.5, "a"]),
        ((1, float("inf")), {"tuple": [1, {"float": "inf"}]}),
        ({"a": 1}, {"dict": [["a", 1]]}),
        (np.float32(0.5), {"scalar": ["<f4", 0.5]}),
        (
            functools.partial(THICKER, 1, t=0.5),
            {"partial": [{"record": ["Thickening", SHAPE]}, [1], {"t": 0.5}]},
        ),
        (np.arange(3.0), {"array": 0}),
        (np.array(["a", 1], object), {"objects": [[2], ["a", 1]]}),
        (
            sp.csr_array(np.eye(2)),
            {"sparse": ["csr_array", [2, 2], {"array": 1}, {"array": 2}, {"array": 3}]},
        ),
        (mc.Gaussian(0.5), kernel),
        (
            mc.Expansion(mc.Gaussian(0.5), np.eye(3), np.ones((3, 1))),
            {"expansion": {"kernel": kernel, "points": {"array": 4}, "coef": {"array": 5}}},
        ),
    ]:
        assert encoder.node(value, "it") == node
    assert [array.shape for array in encoder.arrays] == [(3,), (2,), (2,), (3,), (3, 3), (3, 1)]


def test_every_container_of_points_is_collected():
    X = np.arange(8.0).reshape(4, 2)
    encoder = Encoder()
    pca = mc.KernelPCA(1, kernel=mc.Gaussian(1.0)).fit(X)
    svr = mc.SVR(kernel=mc.Gaussian(1.0)).fit(X, X[:, 0])
    encoder.node([pca, svr], "it")
    assert any(points is pca.expansion_.points for points in encoder.points)
    assert any(points is svr.support_vectors_ for points in encoder.points)


def test_of_scikit_learn_only_parameters_that_differ_from_their_defaults_are_written():
    model = Ridge(alpha=2.0).fit(np.eye(2), [0.0, 1.0])
    [name, params, state] = Encoder().node(model, "it")["estimator"]
    assert (name, params) == ("Ridge", {"alpha": 2.0})
    assert {"coef_", "intercept_", "n_features_in_"} <= state.keys()
    assert all(name.endswith("_") for name in state)


def test_an_attribute_that_fit_does_not_set_is_refused_by_name():
    model = mc.SVR(kernel=mc.Gaussian(1.0)).fit(np.eye(2), [0.0, 1.0])
    model.note = "mine"
    with pytest.raises(Unstorable, match=r"^model: note is not an attribute that fit sets"):
        Encoder().node(model, "model")


def test_an_estimator_of_another_library_is_refused_with_what_to_do():
    pipeline = make_pipeline(KBinsDiscretizer(), mc.SVC())
    with pytest.raises(
        Unstorable,
        match=r"cannot hold .*KBinsDiscretizer; save a part .*joblib.* can hold the estimators of",
    ):
        Encoder().node(pipeline, "model")


def test_pipelines_of_other_classes_or_with_a_cache_are_refused(tmp_path):
    class Other(Pipeline):
        pass

    for pipeline in (
        Other([("a", StandardScaler())]),
        make_pipeline(StandardScaler(), memory=str(tmp_path)),
    ):
        with pytest.raises(Unstorable, match="with memory=None"):
            Encoder().node(pipeline, "model")


def test_values_nested_more_than_a_hundred_deep_are_refused():
    value = 1
    for _ in range(99):
        value = [value]
    assert there_and_back(value) == value
    with pytest.raises(Unstorable, match=r"^it\.0\.0\.0\.\.\.: .*more than 100 deep"):
        Encoder().node([value], "it")
