"""Products with the transpose of kernel values: those of the whole matrix, the same bits with any number of threads."""

import array_api_strict
import numpy as np
import pytest
from sklearn.base import clone

import mercer as mc
from mercer._compute import devices, normal
from mercer._compute.devices import computing_on, place_of
from mercer._compute.threads import limit_threads
from mercer.kernels.base import admit_pair

KERNELS = [
    mc.Gaussian(0.3),
    mc.Matern(nu=1.5),
    mc.Polynomial(2, 1.0),
    mc.Gaussian(0.3) + mc.Linear(),
    mc.Linear(),
]


def product(kernel, X, Z, V, w):
    points = admit_pair(kernel, X, Z)
    return normal.transposed(kernel, *points, V.shape[1], lambda rows, K: w[rows] * (K @ V))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_product_is_that_of_the_whole_matrix(kernel, dtype, global_random_seed, costs):
    rng = np.random.default_rng(global_random_seed)
    for block in (1, 1 << 15, 1 << 22):
        costs(TASK=block)
        n, m, d = rng.integers(1, 700), rng.integers(1, 700), rng.integers(1, 15)
        X, Z = (rng.standard_normal((k, d)).astype(dtype) for k in (n, m))
        V, w = rng.standard_normal((m, 3)), rng.uniform(size=(n, 1))
        K = np.asarray(kernel(X.astype(float), Z.astype(float)))
        exact = K.T @ (w * (K @ V))
        error = 200 * np.finfo(dtype).eps * np.abs(K).max() ** 2 * np.abs(V).sum(axis=0).max() * n
        np.testing.assert_allclose(product(kernel, X, Z, V, w), exact, atol=error, rtol=0)


def test_threads_change_no_bit():
    rng = np.random.default_rng(0)
    X, Z, V, w = (
        rng.standard_normal(shape) for shape in ((3000, 9), (700, 9), (700, 2), (3000, 1))
    )
    found = []
    for n in (1, 2, 3):
        with limit_threads(n):
            found.append(product(KERNELS[0], X, Z, V, w))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_right_side_is_asked_for_each_row_once():
    rows_asked = []
    X, Z = np.random.default_rng(0).standard_normal((2, 500, 10))
    points = admit_pair(KERNELS[0], X, Z)
    found = normal.transposed(
        KERNELS[0],
        *points,
        1,
        lambda rows, K: rows_asked.extend(range(500)[rows]) or np.ones((len(K), 1)),
    )
    assert sorted(rows_asked) == list(range(500))
    np.testing.assert_allclose(found[:, 0], KERNELS[0](X, Z).sum(axis=0), rtol=1e-12)


ON_DEVICE = place_of(
    array_api_strict.asarray(np.ones(1), device=array_api_strict.Device("device1"))
)
LANDMARK_MODELS = [
    mc.KernelRidge(0.1, kernel=KERNELS[0], landmarks=20, rule="uniform", random_state=0),
    mc.KernelRidge(0.1, kernel=mc.Linear() + 1, landmarks=3, rule="uniform", random_state=0),
    mc.KernelPCA(3, kernel=KERNELS[0], landmarks=20, rule="uniform", random_state=0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_product_on_a_device_is_that_of_the_processor(kernel, global_random_seed, costs):
    costs(DEVICE_VALUES=1000)
    rng = np.random.default_rng(global_random_seed)
    X, Z, V, w = (rng.standard_normal(shape) for shape in ((90, 4), (30, 4), (30, 2), (90, 1)))
    expected = product(kernel, X, Z, V, w)
    with computing_on(ON_DEVICE):
        found = product(kernel, X, Z, V, w)
    np.testing.assert_allclose(found, expected, atol=1e-12 * abs(expected).max())


@pytest.mark.parametrize(
    "model", LANDMARK_MODELS, ids=lambda model: f"{type(model).__name__} {model.kernel}"
)
def test_models_over_landmarks_copy_no_kernel_values_of_points_from_a_device(
    model, monkeypatch, costs
):
    costs(DEVICE_VALUES=1000)
    X = np.random.default_rng(0).standard_normal((130, 4))
    y = np.sin(X[:, :2])
    copied = []
    original = devices._as_numpy
    monkeypatch.setattr(devices, "_as_numpy", lambda a: copied.append(np.shape(a)) or original(a))
    there = clone(model).fit(
        *(array_api_strict.asarray(a, device=ON_DEVICE.device) for a in (X, y))
    )
    assert not [shape for shape in copied if len(shape) == 2 and shape[0] > 20 and shape[1] > 4]
    here = clone(model).fit(X, y)
    found = there.expansion_(array_api_strict.asarray(X, device=ON_DEVICE.device))
    np.testing.assert_allclose(devices.moved(found, None), here.expansion_(X), atol=1e-7)
