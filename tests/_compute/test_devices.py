"""Places of arrays: copies in the main memory and back, mixed places, and kernel values on a device of a library."""

import copy
import pickle

import array_api_strict
import numpy as np
import pytest

import mercer as mc
from mercer._compute import array, pick_backend
from mercer._compute.devices import anywhere, computing_on, is_elsewhere, moved, place_of
from mercer._compute.points import Points

DEVICE = array_api_strict.Device("device1")
X = np.random.default_rng(0).standard_normal((30, 3))
there = array_api_strict.asarray(X, device=DEVICE)
here = array_api_strict.asarray(X)


def test_the_place_of_an_array_is_its_library_and_its_device():
    assert place_of(X) is place_of([1.0]) is place_of("text") is None
    assert (place_of(there).library, place_of(there).device) == ("array_api_strict", DEVICE)
    assert place_of(here) != place_of(there)
    assert (place_of(here).is_processor, place_of(there).is_processor) == (True, False)
    assert (
        pickle.loads(pickle.dumps(place_of(here)))
        == copy.deepcopy(place_of(here))
        == place_of(here)
    )


def test_a_class_has_no_place_and_is_not_moved():
    assert place_of(mc.SVC) is place_of(mc.Expansion) is None
    assert moved(mc.SVC, place_of(there)) is mc.SVC


def test_a_move_there_and_back_changes_no_bit():
    psi = mc.Expansion(mc.Gaussian(0.5), X, X[:, :2])
    record = {
        "rows": X,
        "parts": [X[::-1], (X.astype(np.float32), None)],
        "labels": np.array(["a", "b"]),
    }
    moved_there = moved({"psi": psi, "record": record}, place_of(there))
    assert (
        place_of(moved_there["psi"])
        == place_of(moved_there["record"]["parts"][0])
        == place_of(there)
    )
    assert type(moved_there["record"]["labels"]) is np.ndarray
    back = moved(moved_there, None)
    np.testing.assert_array_equal(back["psi"].coef, psi.coef)
    np.testing.assert_array_equal(back["record"]["parts"][0], X[::-1])
    np.testing.assert_array_equal(back["record"]["parts"][1][0], X.astype(np.float32))
    assert back["record"]["parts"][1][0].dtype == np.float32


def test_a_function_of_numpy_arrays_returns_arrays_where_those_that_it_takes_are():
    @anywhere
    def total(rows, scale=1.0):
        assert type(rows) is np.ndarray
        assert is_elsewhere()
        return scale * rows.sum(axis=0)

    found = total(there, scale=2.0)
    assert place_of(found) == place_of(there)
    np.testing.assert_array_equal(moved(found, None), 2.0 * X.sum(axis=0))
    with pytest.raises(
        ValueError,
        match=r"one library and on one device, got .*CPU_DEVICE.* and .*device1.*move one",
    ):
        total(there, scale=here)
    assert not is_elsewhere()


FUNCTIONS = {
    "preimage": lambda psi: mc.preimage(psi, start=None).points,
    "ray": lambda psi: mc.ray(psi).points,
    "reduce": lambda psi: mc.reduce(psi, 4).expansion.coef,
    "refine": lambda psi: mc.reduce(psi, 3, method=mc.Refine()).expansion.points,
    "svd": lambda psi: mc.svd(psi, 1)[0].coef,
    "qr": lambda psi: mc.qr(psi)[1],
    "lstsq": lambda psi: mc.lstsq(psi, [1.0, 2.0], 0.5).coef,
    "project": lambda psi: mc.project(psi[:, [0]], psi[:, [1]]).coef,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_expansions_return_arrays_on_the_device_of_the_points(name):
    psi, function = mc.Expansion(mc.Gaussian(0.5), X, np.abs(X[:, :2])), FUNCTIONS[name]
    found, expected = function(moved(psi, place_of(there))), function(psi)
    assert place_of(found) == place_of(there)
    np.testing.assert_allclose(moved(found, None), expected, rtol=1e-6, atol=1e-6)


def drift(X, t):
    return X + t * np.arange(1, X.shape[1] + 1)


KERNEL = mc.Gaussian(0.5)
MODEL = mc.SVC(kernel=KERNEL).fit(X, X[:, 0] > 0)
OF_POINTS = {
    "smallest_ball": lambda X, _: mc.capacity.smallest_ball(mc.Gaussian(0.5), X).radius,
    "report": lambda X, y: mc.capacity.report(MODEL, X, y).bounds[0].value,
    "leave_one_out": lambda X, y: mc.capacity.leave_one_out(MODEL, X, y),
    "learn_scales": lambda X, y: mc.learn_scales(mc.Gaussian(0.5), X, y).A,
    "learn_metric": lambda X, y: mc.learn_metric(mc.SVC(), X, y).dual_coef_,
    "invariant_kernel": lambda X, _: mc.invariance.invariant_kernel(KERNEL, X, [drift]).A,
    "invariant_feature_kernel": lambda X, _: (
        mc.invariance.invariant_feature_kernel(KERNEL, X, [drift]).weights
    ),
    "tangent_features": lambda X, _: mc.invariance.tangent_features(
        KERNEL, X, mc.invariance.tangents(X, [drift])
    )(X),
    "tangent_components": lambda X, _: mc.invariance.tangent_components(
        mc.invariance.tangent_features(KERNEL, X, mc.invariance.tangents(X, [drift]))
    )[1],
    "magnify": lambda X, y: mc.manifold.magnify(mc.SVC(kernel=KERNEL).fit(X, y), 0.5)(X),
    "random_fourier": lambda X, _: mc.maps.FourierFeatures(np.eye(X.shape[1]))(X),
    "as_expansion": lambda X, y: mc.as_expansion(mc.SVC().fit(X, y)).expansion.coef,
    "to_onnx": lambda X, _: len(mc.formats.to_onnx(MODEL, X=X).SerializeToString()),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_POINTS)
def test_functions_of_points_take_arrays_of_any_device(name):
    y = X[:, 0] > 0
    target = array_api_strict.asarray(y, device=DEVICE)
    found, expected = OF_POINTS[name](there, target), OF_POINTS[name](X, y)
    np.testing.assert_allclose(moved(found, None), expected, rtol=1e-6, atol=1e-9)


def test_a_saved_model_of_other_arrays_is_the_model_of_numpy(tmp_path):
    model = mc.KernelRidge(0.1, kernel=mc.Gaussian(0.5)).fit(here, here[:, 0])
    mc.save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        mc.load(tmp_path / "model").predict(X), moved(model.predict(here), None)
    )


KERNELS = [mc.Gaussian(0.5), mc.Polynomial(2) * mc.Linear() + 0.5, mc.Laplacian(0.4)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_blocks_of_kernel_values_on_a_device_equal_those_of_compiled_loops(kernel, monkeypatch):
    # compiled loops are not called
    monkeypatch.setattr("mercer._compute.fused.matmul", None)
    points, others, V = Points(X), Points(X[:7]), X[:7, :2]
    K, W = kernel(X, X[:7]), np.outer(X[:, 0], X[:7, 1])
    with computing_on(place_of(there)):
        backend = pick_backend(kernel, points, others)
        found = (
            backend.dense(kernel, points, others),
            backend.matmul(kernel, points, others, V),
            backend.vjp(kernel, points, others, lambda rows: W[rows]),
            mc.Gram(kernel, X, X[:7]) @ V,
        )
    expected = K, K @ V, kernel.vjp(X, X[:7], W), K @ V
    for left, right in zip(found, expected, strict=True):
        assert type(left) is np.ndarray
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "mix",
    [
        lambda: mc.Linear()(there, X),
        lambda: mc.Linear()(here, there),
        lambda: mc.Gram(mc.Linear(), there) @ X[:, 0],
        lambda: mc.Gram(mc.Linear(), X) @ here[:, 0],
        lambda: mc.features(mc.Linear(), there)(here),
        lambda: mc.Expansion(mc.Linear(), there, here),
        lambda: mc.features(mc.Linear(), there) @ X[:, :1],
    ],
)
def test_arrays_of_two_libraries_or_devices_are_refused(mix):
    with pytest.raises(
        ValueError, match="one library and on one device, got .* and .*; move one of them"
    ):
        mix()


def test_a_tile_that_a_device_does_not_hold_is_halved(monkeypatch):
    class OutOfMemoryError(RuntimeError):
        """As in PyTorch and CuPy."""

    asked, limit = [], 10
    evaluate = mc.Gaussian.evaluate

    def short_of_memory(self, tile):
        asked.append(len(tile.X))
        if len(tile.X) > limit:
            raise OutOfMemoryError
        return evaluate(self, tile)

    kernel, points = mc.Gaussian(0.5), Points(here)
    expected = moved(kernel(here), None)
    monkeypatch.setattr(mc.Gaussian, "evaluate", short_of_memory)
    np.testing.assert_allclose(
        moved(array.dense(kernel, points, points), None), expected, rtol=1e-14
    )
    assert asked == [30, 8, 8, 8, 6]
    limit = 4
    with pytest.raises(OutOfMemoryError):
        array.dense(kernel, points, points)


@pytest.mark.torch
def test_numbers_that_numpy_does_not_have_become_float64():
    import torch

    labels = (X[:, 0] > 0).astype(int)
    rows = torch.from_numpy(X).bfloat16()
    wide = rows.double().numpy()
    np.testing.assert_array_equal(moved(rows, None), wide)
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(rows, torch.from_numpy(labels).bfloat16())
    expected = mc.SVC(kernel=mc.Gaussian(0.5)).fit(wide, labels).decision_function(wide)
    np.testing.assert_array_equal(model.decision_function(rows).numpy(), expected)
