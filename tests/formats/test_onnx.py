"""Models as ONNX graphs: onnxruntime gives Mercer's scores and labels."""

import dataclasses
import functools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference.exported import (
    CASES,
    PROBABLE,
    TARGET,
    X,
    Y,
    expected_values,
    fitted,
    many_classes,
    of_a_table,
    with_each,
    with_probabilities,
)

import mercer as mc
from mercer.expansion import direct_sum
from mercer.formats import onnx as onnx_graph
from mercer.formats import register_onnx_converters, to_onnx, write_libsvm
from mercer.formats.fitted_expansion import FittedExpansion
from mercer.formats.portable import portable, products
from mercer.formats.quantised import Exact, decoded, quantise, uncoded

onnx = pytest.importorskip("onnx", reason='onnx is not installed: pip install "mercer[onnx]"')
onnxruntime = pytest.importorskip(
    "onnxruntime", reason='onnxruntime is not installed: pip install "mercer[onnx]"'
)


def outputs(proto, points):
    """Return what onnxruntime computes of points, by the names of the outputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": points}), strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_onnxruntime_gives_the_scores_and_labels_of_python(case, dtype, global_random_seed):
    model = fitted(case)
    expected = expected_values(model, dtype, global_random_seed)
    found = outputs(to_onnx(model, dtype), expected.points)
    expected.assert_agrees(found["scores"])
    assert ("label" in found) == (hasattr(model, "classes_") or hasattr(model, "offset_"))
    if "label" in found:
        expected.assert_same_labels(found["label"])


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 1e-3)])
@pytest.mark.parametrize("target", ["reals", "two classes", "three classes"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_graph_of_a_table_takes_its_rows(target, dtype, tolerance):
    model, points = of_a_table(target)
    expected = getattr(model, "decision_function", model.predict)(points).reshape(len(points), -1)
    found = outputs(to_onnx(model, dtype), points.astype(dtype))
    assert abs(found["scores"] - expected).max() <= tolerance * abs(expected).max()
    if target != "reals":
        clear = (
            abs(np.diff(np.sort(np.column_stack([0 * expected[:, 0], expected]))[:, -2:])[:, 0])
            > 1e-3
        )
        np.testing.assert_array_equal(found["label"][clear], model.predict(points)[clear])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_the_error_of_a_table_is_measured_at_rows_with_missing_entries(dtype):
    model, points = of_a_table("two classes")
    assert np.isnan(points).any()
    proto = to_onnx(model, dtype, X=points)
    error = {each.key: float(each.value) for each in proto.metadata_props}["max_error"]
    found = outputs(proto, points.astype("float32"))["scores"][:, 0]
    assert abs(found - model.decision_function(points)).max() == pytest.approx(error, abs=1e-5)
    points = points.copy()
    points[3, 1] = np.inf
    with pytest.raises(ValueError, match="X.3, 1. = .* must be at most"):
        to_onnx(model, dtype, X=points)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("case", PROBABLE)
def test_onnxruntime_gives_the_probabilities_of_python(case, n_classes, dtype, global_random_seed):
    expected = with_probabilities(case, n_classes, global_random_seed)
    found = outputs(to_onnx(expected.model, dtype), expected.points.astype(dtype))
    expected.assert_agrees(found["probabilities"], found["label"])


def test_columns_of_texts_are_refused_with_a_remedy():
    table = [["a", 1.0], ["b", 2.0]] * 10
    with pytest.raises(
        TypeError,
        match=r"TableRegressor has columns of texts.* export mercer.as_expansion\(model\)",
    ):
        to_onnx(mc.TableRegressor().fit(table, np.arange(20.0)))


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5), ("float16", 1e-2)]
)
def test_distances_of_sizes_of_differences_are_in_the_graph(dtype, tolerance):
    model = mc.KernelRidge(kernel=mc.Laplacian(0.3) + mc.Gaussian(0.2)).fit(X, TARGET)
    points = (X[::3] + 0.1).astype("float64" if dtype == "float64" else "float32")
    expected = model.predict(points.astype(np.float64))
    found = outputs(to_onnx(model, dtype, X), points)["scores"][:, 0]
    assert abs(found - expected).max() <= tolerance * abs(expected).max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", ["Gaussian", "scikit-learn's SVC by classes"])
def test_pairs_give_the_values_of_decision_function(case, dtype, global_random_seed):
    model = fitted(case)
    expected = expected_values(model, dtype, global_random_seed, n=2000)
    found = outputs(to_onnx(model, dtype), expected.points)["decision"]
    values = model.decision_function(expected.points.astype(np.float64))
    assert found.dtype == dtype
    # a vote turns where the score of a pair is 0
    assert abs(found - values)[expected.clear].max() <= 2 * expected.tolerance
    assert expected.clear.mean() > 0.99


@pytest.mark.parametrize(
    "case", ["one against the rest", "two classes", "scikit-learn's SVC", "SVR"]
)
def test_other_models_have_no_second_decision_values(case):
    assert [each.name for each in to_onnx(fitted(case)).graph.output] == (
        ["label"] * (case != "SVR")
    ) + ["scores"]


@pytest.mark.parametrize(("case", "dtype"), with_each("float16", "int8"))
def test_vectors_in_few_bits_give_the_scores_that_are_computed_from_their_codes(
    case, dtype, global_random_seed
):
    model = fitted(case)
    proto = to_onnx(model, dtype, X)
    exported, codes = decoded(portable(model, "float32"), dtype)
    expected = uncoded(portable(model, "float32"), "float64").scores(X)
    stored = quantise(exported, functools.partial(Exact, dtype="float32"), X, expected)
    stored = dataclasses.replace(stored, vectors=uncoded(exported, "float64").vectors)
    points = expected_values(model, "float32", global_random_seed, n=500).points
    scores, found = stored.scores(points), outputs(proto, points)
    largest = np.full((1, len(stored.coef)), abs(stored.kernel(points)).max())
    size = products(largest, abs(stored.coef), exported.counts) + abs(exported.intercept)
    assert np.all(abs(found["scores"] - scores) <= 2e-5 * size)
    # the error that the metadata state is that of the graph
    stated = {each.key: float(each.value) for each in proto.metadata_props}
    error = abs(outputs(proto, X.astype(np.float32))["scores"] - expected).max()
    assert abs(error - stated["max_error"]) <= 2e-5 * size.max()
    assert ("label_agreement" in stated) == ("label" in found)
    assert all(
        each.codes.dtype == (np.int8 if dtype == "int8" else np.float16) for each in codes.values()
    )


def test_files_of_few_bits_are_small_and_need_points():
    model = fitted("Gaussian")
    whole, half, byte = (
        len(to_onnx(model, dtype, X).SerializeToString())
        for dtype in ("float32", "float16", "int8")
    )
    n, d = model.expansion_.points.shape
    np.testing.assert_allclose([whole - half, half - byte], [2 * n * d + 2 * n, n * d], atol=700)
    with pytest.raises(ValueError, match='X = None must be rows for dtype="int8"'):
        to_onnx(model, "int8")
    with pytest.raises(ValueError, match="X has 3 features, but the model has 4"):
        to_onnx(model, "int8", X[:, :3])


@pytest.mark.parametrize(
    ("dtype", "size", "tolerance"),
    [("float64", 8, 1e-12), ("float32", 4, 1e-5), ("float16", 2, 2e-2), ("int8", 1, 0.3)],
)
def test_the_rows_of_several_kernels_are_stored_once(dtype, size, tolerance, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    n, d = 500, 12
    Z, points = rng.normal(size=(2, n, d)) + 3.0
    kernels = [
        mc.Mapped(mc.Gaussian(0.1), rng.normal(size=(d, d)) / np.sqrt(d)),
        mc.Mapped(mc.Matern(2.0, 1.5), rng.uniform(0.5, 1.0, d)),
        mc.Mapped(mc.Gaussian(0.2), np.arange(d)[::-1]),
        mc.Linear() + mc.Gaussian(0.1),
    ]
    psi = direct_sum(*(mc.Expansion(kernel, Z, rng.normal(size=n)) for kernel in kernels))
    model = FittedExpansion(psi, np.zeros(1))
    proto = to_onnx(model, dtype, Z)
    # beside the rows and the coefficients: a map, and names
    bound = size * n * d + (max(size, 2) + 4) * len(kernels) * n + 8 * d**2 + 8000
    assert len(proto.SerializeToString()) < bound
    found = outputs(proto, points.astype("float64" if dtype == "float64" else "float32"))["scores"]
    expected = model(points)
    assert abs(found - expected).max() <= tolerance * abs(expected).max()


def test_columns_of_a_table_that_are_in_order_are_not_gathered_again():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    model = mc.TableRegressor().fit(rows, rows[:, 0])
    proto = to_onnx(model, "float64")
    joined = {node.output[0] for node in proto.graph.node if node.op_type == "Concat"}
    gathered = [node.input[0] for node in proto.graph.node if node.op_type == "Gather"]
    assert gathered
    assert joined.isdisjoint(gathered)
    found = outputs(proto, rows)["scores"][:, 0]
    np.testing.assert_allclose(found, model.predict(rows), rtol=0, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_a_table_are_stored_as_the_table(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    n = 400
    table = np.column_stack([rng.integers(0, 30, n), rng.lognormal(sigma=2.0, size=(n, 2))])
    table[::9, 1] = np.nan
    y = np.sin(table[:, 0]) + np.log(table[:, 2]) + np.isnan(table[:, 1])
    model = mc.TableRegressor().fit(pd.DataFrame(table).astype({0: "category"}), y)
    proto = to_onnx(model, dtype)
    # beside the table: coefficients of each kernel, scales of the columns, and a map for each kernel
    n_kernels = len(model.expansion_.points) // n
    n_columns = len(model.columns_)
    assert n_columns > 30
    assert n_kernels > 1
    size = np.dtype(dtype).itemsize
    numbers = 3 * n + n_kernels * (n + n_columns**2) + 400
    assert len(proto.SerializeToString()) < size * numbers + 200 * (n_columns + 30 * n_kernels)
    new = table[rng.permutation(n)]
    new[:, 2] *= 1.1
    expected = model.predict(new)
    found = outputs(proto, new.astype(dtype))["scores"][:, 0]
    assert abs(found - expected).max() <= {"float32": 1e-2, "float64": 1e-9}[dtype]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.1), mc.Linear()], ids=repr)
def test_many_classes_take_the_room_of_packed_coefficients(kernel, dtype, global_random_seed):
    model, points, scores = many_classes(global_random_seed, kernel)
    proto = to_onnx(model, dtype)
    # a coefficient of each vector for each pair takes 20 times as much, a normal of each pair more
    assert len(proto.SerializeToString()) < 3 * 8 * model.dual_coef_.size
    found = outputs(proto, points.astype(dtype))
    tolerance = {"float32": 1e-5, "float64": 1e-12}[dtype] * abs(scores).max()
    assert abs(found["scores"] - scores).max() <= tolerance
    clear = (abs(scores) > tolerance).all(axis=1)
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(found["label"][clear], model.predict(points)[clear])
    assert (
        abs(found["decision"] - model.decision_function(points))[clear].max()
        <= 2 * tolerance + 1e-5
    )


def test_a_class_without_vectors_keeps_its_votes(global_random_seed):
    model, points, _ = many_classes(global_random_seed, mc.Gaussian(0.1), 4)
    model.dual_coef_ = np.where(model.support_[:, None] // 3 == 2, 0.0, model.dual_coef_)
    found = outputs(to_onnx(model, "float64"), points)
    np.testing.assert_array_equal(found["label"], model.predict(points))
    np.testing.assert_allclose(found["decision"], model.decision_function(points), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float64")], ids=str)
def test_types_of_numpy_are_those_of_their_names(dtype):
    model = fitted("Gaussian")
    assert to_onnx(model, dtype) == to_onnx(model, np.dtype(dtype).name)


@pytest.mark.parametrize("path", ["a.onnx", Path("a.onnx")], ids=["str", "Path"])
def test_a_path_in_place_of_the_type_is_told_how_to_save(path):
    with pytest.raises(
        ValueError, match=r'is a path, .* use onnx.save\(to_onnx\(model\), "a.onnx"\)'
    ):
        to_onnx(fitted("Gaussian"), path)


def test_a_text_model_of_libsvm_becomes_a_graph(tmp_path):
    model = fitted("Gaussian")
    write_libsvm(model, tmp_path / "model")
    expected = expected_values(model, "float64", 0, n=200)
    found = outputs(to_onnx(tmp_path / "model", "float64"), expected.points)
    expected.assert_agrees(found["scores"])
    expected.assert_same_labels(found["label"])


@pytest.mark.parametrize(
    "kernel", [mc.Linear() * 0.0001 + 2.0, mc.Normalized(mc.Linear()), mc.Linear() + 0.5], ids=repr
)
def test_points_of_norm_zero_have_scores(kernel):
    psi = mc.Expansion(kernel, np.array([[0.0, 0.0], [1.0, 2.0]]), np.ones((2, 1)))
    points = np.array([[0.0, 0.0], [0.5, -1.0]])
    found = outputs(to_onnx(mc.formats.FittedExpansion(psi, np.array([0.25])), "float64"), points)
    np.testing.assert_allclose(found["scores"], psi(points) + 0.25, rtol=1e-14)


def test_a_constant_kernel_has_a_value_for_every_pair():
    psi = mc.Expansion(mc.kernels.algebra.Constant(3.0), np.zeros((2, 1)), np.array([[1.0], [1.0]]))
    found = outputs(
        to_onnx(mc.formats.FittedExpansion(psi, np.zeros(1)), "float64"), np.ones((5, 1))
    )
    np.testing.assert_array_equal(found["scores"], np.full((5, 1), 6.0))


def test_points_far_from_the_origin_lose_no_digits(global_random_seed):
    # days since 1970: plain squares of these are 1e9 times the squared distances
    days = 20_000 + np.random.default_rng(global_random_seed).random((300, 1)) * 8
    model = mc.SVR(kernel=mc.Gaussian(1.0)).fit(days, np.sin(days[:, 0]))
    found = outputs(to_onnx(model, "float64"), days)["scores"][:, 0]
    assert abs(found - model.predict(days)).max() <= 1e-12 * abs(found).max()


def test_a_graph_declares_its_inputs_and_outputs_and_uses_standard_operators_only():
    proto = to_onnx(fitted("three classes by name"), "float32")
    assert [(entry.domain, entry.version) for entry in proto.opset_import] == [("", 15)]
    assert proto.ir_version == 8
    types = onnx.TensorProto
    found = {each.name: each.type.tensor_type for each in [*proto.graph.input, *proto.graph.output]}
    assert {name: each.elem_type for name, each in found.items()} == {
        "X": types.FLOAT,
        "label": types.STRING,
        "scores": types.FLOAT,
        "decision": types.FLOAT,
    }
    assert {name: [d.dim_value for d in each.shape.dim][1:] for name, each in found.items()} == {
        "X": [4],
        "label": [],
        "scores": [3],
        "decision": [3],
    }
    assert proto.graph.doc_string.startswith("NuSVC, ")
    onnx.checker.check_model(proto, full_check=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (mc.SVC(kernel="rbf"), np.array(["a", "b", "c"])[Y]),
        (mc.SVC(kernel="poly"), Y),
        (mc.SVCCV(Cs=[1.0, 10.0], cv=2), Y),
        (mc.SVRCV(Cs=[1.0, 10.0], cv=2), Y),
        (mc.OneClassSVM(nu=0.2), None),
        (mc.NuSVR(), TARGET),
        (mc.KernelRidge(alpha=0.1, kernel="rbf"), np.column_stack([TARGET, Y])),
        (mc.KernelPCA(2, kernel="rbf"), None),
        (mc.SVDD(), None),
        (mc.KernelMap("rbf", landmarks=10, random_state=0), None),
        (mc.Nystroem("rbf", n_components=10, random_state=0), None),
        (mc.Kernelized(Ridge(), "rbf", landmarks=10, random_state=0), TARGET),
        (mc.VirtualSupportVectors(mc.SVC(), [lambda X: X + 0.1]), Y),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_pipeline_becomes_one_graph(model, y, dtype, global_random_seed):
    skl2onnx = pytest.importorskip(
        "skl2onnx", reason='skl2onnx is not installed: pip install "mercer[onnx]"'
    )
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    register_onnx_converters()
    register_onnx_converters()
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    kind = DoubleTensorType if dtype == "float64" else FloatTensorType
    proto = skl2onnx.convert_sklearn(pipeline, initial_types=[("X", kind([None, 4]))])
    expected = expected_values(pipeline[-1], "float64", global_random_seed)
    raw = pipeline[0].inverse_transform(expected.points).astype(dtype)
    scores = mc.as_expansion(pipeline[-1])(pipeline[0].transform(raw.astype(np.float64)))
    found = outputs(proto, raw)
    tolerance = {"float32": 1e-5, "float64": 1e-12}[dtype] * abs(scores).max()
    assert found["scores"].dtype == dtype
    assert abs(found["scores"] - scores).max() <= tolerance
    if "label" in found:
        clear = (abs(scores) > tolerance).all(axis=1)
        np.testing.assert_array_equal(found["label"][clear], pipeline.predict(raw)[clear])


@pytest.mark.parametrize("case", ["sigmoid", "most probable", "a table"])
def test_a_pipeline_of_skl2onnx_ends_with_the_probabilities(case, global_random_seed):
    skl2onnx = pytest.importorskip(
        "skl2onnx", reason='skl2onnx is not installed: pip install "mercer[onnx]"'
    )
    from skl2onnx.common.data_types import DoubleTensorType

    register_onnx_converters()
    expected = with_probabilities(case, 4, global_random_seed)
    proto = skl2onnx.convert_sklearn(
        expected.model, initial_types=[("X", DoubleTensorType([None, 3]))]
    )
    found = outputs(proto, expected.points)
    expected.assert_agrees(found["probabilities"], found["label"])


def test_features_become_the_input_of_the_next_step_of_a_graph():
    skl2onnx = pytest.importorskip(
        "skl2onnx", reason='skl2onnx is not installed: pip install "mercer[onnx]"'
    )
    from skl2onnx.common.data_types import FloatTensorType

    register_onnx_converters()
    rows = X.astype(np.float32)
    pipeline = make_pipeline(mc.Nystroem("rbf", n_components=10, random_state=0), Ridge()).fit(
        rows, TARGET
    )
    proto = skl2onnx.convert_sklearn(pipeline, initial_types=[("X", FloatTensorType([None, 4]))])
    (found,) = outputs(proto, rows).values()
    np.testing.assert_allclose(found[:, 0], pipeline.predict(rows), atol=1e-3)


def test_a_prediction_rule_without_a_graph_is_refused_in_a_pipeline_as_alone():
    skl2onnx = pytest.importorskip(
        "skl2onnx", reason='skl2onnx is not installed: pip install "mercer[onnx]"'
    )
    from skl2onnx.common.data_types import FloatTensorType

    register_onnx_converters()
    pipeline = make_pipeline(StandardScaler(), mc.KernelFisher(kernel="rbf")).fit(X, Y)
    with pytest.raises(TypeError, match="the prediction rule of KernelFisher cannot be exported"):
        skl2onnx.convert_sklearn(pipeline, initial_types=[("X", FloatTensorType([None, 4]))])


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_inside_another_estimator_is_refused_with_what_to_do(classes):
    skl2onnx = pytest.importorskip(
        "skl2onnx", reason='skl2onnx is not installed: pip install "mercer[onnx]"'
    )
    from skl2onnx.common.data_types import FloatTensorType

    register_onnx_converters()
    y = np.arange(len(X)) % classes
    model = CalibratedClassifierCV(mc.SVC(), ensemble=False, cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"SVC inside .* mercer\.formats\.to_onnx\(model\) takes"):
        skl2onnx.convert_sklearn(model, initial_types=[("X", FloatTensorType([None, 4]))])
    found = outputs(to_onnx(model, "float64"), X)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X), atol=1e-9)


def test_a_model_of_integer_input_becomes_a_graph_of_float32():
    skl2onnx = pytest.importorskip(
        "skl2onnx", reason='skl2onnx is not installed: pip install "mercer[onnx]"'
    )
    from skl2onnx.common.data_types import Int64TensorType

    register_onnx_converters()
    points = np.round(10 * X).astype(np.int64)
    model = mc.SVC(kernel="rbf").fit(points, Y)
    proto = skl2onnx.convert_sklearn(model, initial_types=[("X", Int64TensorType([None, 4]))])
    np.testing.assert_array_equal(outputs(proto, points)["label"], model.predict(points))


def test_without_the_packages_the_error_names_the_extra(monkeypatch):
    for name in ("onnx", "skl2onnx"):
        monkeypatch.setitem(sys.modules, name, None)
    onnx_graph._require_onnx.cache_clear()
    for call in (lambda: to_onnx(fitted("SVR")), register_onnx_converters):
        with pytest.raises(ModuleNotFoundError, match=r'pip install "mercer\[onnx\]"'):
            call()
