"""Exported one-class models: points on the boundary stay inside, where most of the labels are decided."""

import numpy as np
import pytest

import mercer as mc
from mercer.formats import to_c, to_onnx

SETTINGS = [
    (60, 4, 0.2, 0.0),
    (60, 4, 0.05, 3.0),
    (300, 20, 0.5, 0.0),
    (300, 2, 0.1, 30.0),
    (150, 200, 0.2, 0.0),
]
KERNELS = [mc.Gaussian(0.3), "rbf", mc.Polynomial(3), "linear"]


def fitted(kind, kernel, n, d, nu, mean, seed):
    """Return training rows and a model of them."""
    X = np.random.default_rng(seed).standard_normal((n, d)) + mean
    model = (
        mc.OneClassSVM(nu, kernel=kernel)
        if kind == "half space"
        else mc.SVDD(1 / (nu * n), kernel=kernel)
    )
    return X, model.fit(X)


@pytest.mark.filterwarnings("ignore:OneClassSVM has no half space")
# decision values of SVDD are affine in the features for kernels of distances only
@pytest.mark.parametrize(
    ("kind", "kernel"),
    [*(("half space", kernel) for kernel in KERNELS), ("ball", KERNELS[0]), ("ball", "rbf")],
    ids=str,
)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_exports_give_training_rows_the_labels_of_the_model(
    kind, kernel, setting, dtype, tmp_path, global_random_seed
):
    X, model = fitted(kind, kernel, *setting, global_random_seed)
    assert to_c(model, tmp_path / "model.c", dtype, X=X).label_agreement >= 0.99
    assert np.mean(model.predict(X) < 0) <= setting[2]


@pytest.mark.parametrize("kind", ["half space", "ball"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8"])
def test_a_runtime_gives_training_rows_the_labels_of_the_model(
    kind, setting, dtype, global_random_seed
):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, model = fitted(kind, "rbf", *setting, global_random_seed)
    session = runtime.InferenceSession(to_onnx(model, dtype, X).SerializeToString())
    labels = session.run(
        ["label"], {"X": X.astype("float64" if dtype == "float64" else "float32")}
    )[0]
    assert np.mean(labels == model.predict(X)) >= 0.99
