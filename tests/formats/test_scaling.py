"""Pipelines that scale columns: exports take raw points and give the scores and labels of the pipeline."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from tests.formats.test_c import Compiled, needs_compiler
from tests.formats.test_onnx import outputs
from tests.reference.exported import X as STANDARDISED
from tests.reference.exported import Y

import mercer as mc
from mercer.formats import to_onnx
from mercer.formats.portable import scaling

X = STANDARDISED * [2.0, 0.1, 30.0, 1.0] + [5.0, -1.0, 100.0, 0.0]
SCALERS = [
    [StandardScaler()],
    [StandardScaler(with_mean=False), None],
    [StandardScaler(with_std=False), "passthrough", MaxAbsScaler()],
    [RobustScaler()],
    [RobustScaler(with_centering=False, with_scaling=False)],
    [MinMaxScaler((-1, 2)), StandardScaler(), RobustScaler()],
]


@pytest.mark.parametrize("steps", SCALERS, ids=repr)
def test_shift_and_factor_are_those_of_all_steps(steps):
    pipeline = make_pipeline(*steps, mc.SVC()).fit(X, Y)
    shift, factor = scaling(pipeline)
    np.testing.assert_allclose(
        (X - shift) * factor, pipeline[:-1].transform(X), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("steps", SCALERS[:1] + SCALERS[2:4] + [[MinMaxScaler()]], ids=repr)
def test_attributes_in_float32_are_composed_in_float64(steps):
    rows = (X + [0.0, 1000.0, 0.0, 0.0]).astype(np.float32)
    pipeline = make_pipeline(*steps, mc.SVC()).fit(rows, Y)
    shift, factor = scaling(pipeline)
    rows = rows.astype(np.float64)
    np.testing.assert_allclose(
        (rows - shift) * factor, pipeline[:-1].transform(rows), rtol=1e-9, atol=1e-9
    )


@needs_compiler
@pytest.mark.parametrize(
    ("dtype", "kernel"),
    [("float64", mc.Gaussian(0.3)), ("int8", mc.Gaussian(0.3)), ("float32", mc.Polynomial(2))],
)
def test_compiled_pipelines_take_raw_points(dtype, kernel, tmp_path):
    pipeline = make_pipeline(StandardScaler(), MinMaxScaler(), mc.SVC(kernel=kernel)).fit(X, Y)
    expected = mc.as_expansion(pipeline[-1])(pipeline[:-1].transform(X))
    compiled = Compiled(pipeline, dtype, tmp_path, **({"X": X} if dtype == "int8" else {}))
    found = compiled.scores(X.astype("f8" if dtype == "float64" else "f4"), expected.shape[1])
    tolerance = {"float64": 1e-12, "float32": 1e-5, "int8": 0.02}[dtype]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * abs(expected).max())


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_graphs_of_pipelines_take_raw_points(dtype):
    pipeline = make_pipeline(RobustScaler(), mc.SVC(kernel=mc.Gaussian(0.3))).fit(X, Y)
    expected = mc.as_expansion(pipeline[-1])(pipeline[:-1].transform(X))
    found = outputs(to_onnx(pipeline, dtype, X), X.astype("f8" if dtype == "float64" else "f4"))
    tolerance = {"float64": 1e-12, "float16": 2e-3}[dtype]
    np.testing.assert_allclose(
        found["scores"], expected, rtol=0, atol=tolerance * abs(expected).max()
    )
    np.testing.assert_array_equal(found["label"], pipeline.predict(X))


def clipping():
    """Return a scaler that clips, which scikit-learn has from version 1.8 on."""
    scaler = MaxAbsScaler()
    scaler.clip = True
    return scaler


@pytest.mark.parametrize(
    "step", [PCA(2), MinMaxScaler(clip=True), clipping()], ids=lambda step: type(step).__name__
)
def test_steps_that_are_no_scalers_are_refused(step):
    name = type(step).__name__
    message = (
        rf"^the step '\w+', {name}, cannot be exported; .* pipeline\[-1\].*register_onnx_converters"
    )
    with pytest.raises(TypeError, match=message):
        scaling(make_pipeline(StandardScaler(), step, mc.SVC()).fit(X, Y))
