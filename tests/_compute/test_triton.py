"""Products by the Triton kernel, which Triton's interpreter runs on the processor, and by tiles where it fails."""

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from tests.reference.instances import ROWS

import mercer as mc
from mercer._compute import array, devices, pick_backend
from mercer._compute.points import Points
from mercer.kernels.base import admit_pair

torch = pytest.importorskip("torch", reason="PyTorch is not installed; `make test-all` installs it")
pytest.importorskip(
    "triton", reason="Triton is not installed; `make test-all` installs it on Linux"
)
backend = pytest.importorskip("mercer._compute.triton")

DEVICE = "cpu" if os.environ["TRITON_INTERPRET"] == "1" else "cuda"
# Sums and products of profiles of distances and inner products, without maps of the rows.
TRACED = [
    "gaussian", "matern12", "matern32", "matern52", "rational", "cauchy", "linear", "poly3", "poly1", "poly7",
    "sigmoid", "sum", "plus_constant", "product", "scaled", "power", "exp",
]  # fmt: skip
OTHERS = ["laplacian", "sum_of_kinds", "normalized_linear", "length_scales", "constant"]


@dataclass(frozen=True, eq=False)
class Squares(mc.Radial):
    """The squared distance itself."""

    @staticmethod
    def profile(xp, s, order=0):
        return s if order == 0 else 0 * s + (1.0 if order == 1 else 0.0)


def there(values):
    return torch.as_tensor(values, device=DEVICE)


def points_of(kernel, X, Z):
    X = there(X)
    return admit_pair(kernel, X, X if Z is None else there(Z))


def product(kernel, X, Z, V, pieces=None):
    """Return K(X, Z) @ V by the kernel of Triton."""
    return backend.matmul(kernel, *points_of(kernel, X, Z), there(V), pieces).cpu().numpy()


def values(kernel, X, Z=None):
    """Return K(X, Z), which is K(X, Z) I, by products of 40 columns."""
    one = np.eye(len(X if Z is None else Z), dtype=X.dtype)
    return np.hstack(
        [product(kernel, X, Z, one[:, start : start + 40]) for start in range(0, len(one), 40)]
    )


@pytest.fixture
def no_tiles(monkeypatch):
    """Fail where tiles are evaluated."""

    def refuse(*_):
        raise AssertionError("the product must not take tiles")

    monkeypatch.setattr(array, "matmul", refuse)


@pytest.fixture
def only_tiles(monkeypatch):
    """Fail where the kernel of Triton computes a product."""
    monkeypatch.setattr(backend, "_product", None)


@pytest.fixture
def compiled_here(monkeypatch):
    """Let kernels of Triton compute products on the device of the tests."""
    monkeypatch.setattr(devices, "_TRITON", (DEVICE,))


@pytest.fixture
def asked(monkeypatch):
    """Return the numbers of rows of Z of all products of the kernel of Triton."""
    found, product_of = [], backend._product
    monkeypatch.setattr(
        backend, "_product", lambda *given: found.append(given[2].shape[0]) or product_of(*given)
    )
    return found


def draws(seed, n=70, m=140, d=5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3, rng.normal(size=(m, d)) + 3, rng.normal(size=(m, 3))


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("own", [False, True], ids=["X, Z", "X, X"])
@pytest.mark.parametrize("name", TRACED)
def test_products_equal_those_of_numpy(name, own, global_random_seed):
    kernel = ROWS[name]
    X, Z, V = draws(global_random_seed)
    X, Z, V = 0.3 * X, (None if own else 0.3 * Z), V[:70] if own else V
    K = kernel(X, Z)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-5)):
        found = product(kernel, X.astype(dtype), None if own else Z.astype(dtype), V.astype(dtype))
        assert found.dtype == dtype
        assert (abs(found - K @ V) <= tolerance * (abs(K) @ abs(V))).all()


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("p", [0, 1, 2, 16, 33, 64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_right_hand_sides_is_multiplied(p, dtype):
    X, Z, _ = draws(0)
    V = np.random.default_rng(1).normal(size=(140, p)).astype(dtype)
    K = mc.Gaussian(0.1)(X, Z)
    found = product(mc.Gaussian(0.1), X.astype(dtype), Z.astype(dtype), V)
    assert found.shape == (70, p)
    assert (abs(found - K @ V) <= (1e-13 if dtype == np.float64 else 2e-6) * (K @ abs(V))).all()


@pytest.mark.usefixtures("no_tiles")
def test_columns_that_are_divided_among_programs_are_each_counted_once():
    X, Z, V = draws(2, n=3, m=3000, d=2)
    kernel = mc.Gaussian(0.5)
    np.testing.assert_allclose(product(kernel, X, Z, V), kernel(X, Z) @ V, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("no_tiles")
def test_products_of_pieces_stand_side_by_side():
    X, Z, V = draws(3)
    pieces, K = [slice(0, 50), slice(50, 50), slice(50, 140)], mc.Gaussian(0.2)(X, Z)
    expected = np.hstack([K[:, piece] @ V[piece] for piece in pieces])
    np.testing.assert_allclose(
        product(mc.Gaussian(0.2), X, Z, V, pieces), expected, rtol=1e-12, atol=1e-12
    )
    own = mc.Gaussian(0.2)(Z)
    expected = np.hstack([own[:, piece] @ V[piece] for piece in pieces])
    np.testing.assert_allclose(
        product(mc.Gaussian(0.2), Z, None, V, pieces), expected, rtol=1e-12, atol=1e-12
    )


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_calls_give_equal_bits(dtype):
    X, Z, V = (each.astype(dtype) for each in draws(4, m=1200))
    first, again = (product(mc.Gaussian(0.2), X, Z, V) for _ in range(2))
    np.testing.assert_array_equal(first, again)


# --- accuracy of float32 ----------------------------------------------------------------------------------------------


def spread(rng, size):
    """Return float32 numbers of both signs and of many magnitudes."""
    return (rng.normal(size=size) * 10.0 ** rng.uniform(-4, 4, size=size)).astype(np.float32)


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("d", [1, 3, 4, 40, 300])
def test_inner_products_have_the_error_that_is_stated(d, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    # rows of unlike ranges
    X, Z = spread(rng, (60, d)) * spread(rng, (60, 1)), spread(rng, (64, d)) * np.float32(1e-6)
    found = values(mc.Linear(), X, Z)
    wide = X.astype(np.longdouble), Z.astype(np.longdouble)
    exact = wide[0] @ wide[1].T
    size = np.linalg.norm(wide[0].astype(float), axis=1)[:, None] * np.linalg.norm(
        wide[1].astype(float), axis=1
    )
    # the split, the sum, and the split of the values for the product with V
    bound = (2.0**-21 + d * 2.0**-23) * size + 2.0**-22 * abs(exact)
    assert (abs(found - exact) <= bound).all()
    if d < 10:
        # one product in TF32 exceeds the bound, so the bound tells them apart
        coarse = [
            (each.view(np.int32) + 0x1000 & -0x2000).view(np.float32).astype(np.longdouble)
            for each in (X, Z)
        ]
        assert not (abs(coarse[0] @ coarse[1].T - exact) <= bound).all()


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("d", [1, 3, 40, 300])
def test_squared_distances_have_the_error_that_is_stated(d, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = spread(rng, (60, d)) + np.float32(1e4), spread(rng, (64, d)) + np.float32(1e4)
    found = values(Squares(), X, Z)
    X, Z = (each.astype(np.longdouble) for each in (X, Z))
    centre = Z.mean(axis=0)
    sizes = ((X - centre) ** 2).sum(axis=1)[:, None] + ((Z - centre) ** 2).sum(axis=1)
    exact = np.stack([((x - Z) ** 2).sum(axis=1) for x in X])
    assert (abs(found - exact) <= (4 * d + 16) * 2.0**-23 * sizes).all()


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_points_have_distance_zero_to_themselves_and_nearly_equal_points_keep_their_digits(dtype):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 6)).astype(dtype)
    X[40:] = X[:40] + rng.normal(size=(40, 6)).astype(dtype) * dtype(1e-5)
    S = values(Squares(), X)
    assert (np.diagonal(S) == 0).all()
    wide = X.astype(np.longdouble)
    exact = ((wide[:40] - wide[40:]) ** 2).sum(axis=1)
    np.testing.assert_allclose(
        np.diagonal(S[:40, 40:]), exact.astype(float), rtol=1e-5 if dtype == np.float32 else 1e-9
    )


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("d", [2, 20])
def test_distances_within_clusters_far_apart_are_those_of_the_rows_as_given(d, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(60, d)).astype(np.float32)
    X[::2] += np.float32(1e6)
    found = values(mc.Gaussian(0.5 / d), X)
    np.testing.assert_allclose(found, mc.Gaussian(0.5 / d)(X.astype(np.float64)), atol=1e-6)


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("gamma", [1.0, 0.05, 1e-6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_values_of_a_sigmoid_keep_their_digits(gamma, dtype):
    X = draws(10)[0].astype(dtype)
    found = values(mc.Sigmoid(gamma, 0.0), X)
    exact = np.tanh(gamma * (X.astype(float) @ X.astype(float).T))
    assert abs(found - exact).max() <= 32 * np.finfo(dtype).eps * abs(exact).max()


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("p", [1, 3, 40])
@pytest.mark.parametrize("d", [2, 5, 50, 90])
def test_products_of_float32_have_an_error_of_1e_7(d, p, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, Z = (rng.normal(size=(n, d)).astype(np.float32) for n in (20, 1500))
    # near duplicates, whose distances rounding would hide
    Z[:20] = X + rng.normal(size=(20, d)).astype(np.float32) * np.float32(1e-4)
    V = rng.normal(size=(1500, p)).astype(np.float32)
    K = mc.Gaussian(0.5 / d)(X.astype(float), Z.astype(float))
    assert (abs(product(mc.Gaussian(0.5 / d), X, Z, V) - K @ V) <= 1e-7 * (K @ abs(V))).all()
    # of one sign a sum in float32 loses digits
    V = abs(V)
    assert (abs(product(mc.Gaussian(0.5 / d), X, Z, V) - K @ V) <= 3e-7 * (K @ V)).all()
    assert (
        abs(np.cumsum((K * V[:, 0]).astype(np.float32), axis=1)[:, -1] / (K @ V[:, 0]) - 1).max()
        > 5e-7
    )


@pytest.mark.usefixtures("no_tiles")
@pytest.mark.parametrize("d", [5, 90])
@pytest.mark.parametrize("kernel", [Squares(), mc.Matern(1.0, 0.5), mc.Gaussian(50.0)], ids=repr)
def test_close_pairs_anywhere_keep_their_digits(kernel, d, global_random_seed):
    # several chunks of columns, of which some have no close pair
    rng = np.random.default_rng(global_random_seed)
    Z = rng.normal(size=(1500, d)).astype(np.float32)
    X = rng.normal(size=(130, d)).astype(np.float32)
    twins = rng.permutation(1500)[:13]
    X[::10] = Z[twins] + rng.normal(size=(13, d)).astype(np.float32) * np.float32(1e-3)
    V = np.zeros((1500, 13), np.float32)
    V[twins, np.arange(13)] = 1.0
    found = np.diagonal(product(kernel, X, Z, V)[::10])
    expected = np.diagonal(kernel(X[::10].astype(float), Z[twins].astype(float)))
    np.testing.assert_allclose(found, expected, rtol=2e-5)


def test_close_pairs_are_sought_where_they_show():
    def is_steep(kernel, error=1e-6):
        expression = backend._expression(kernel)
        return backend._form(kernel, expression, torch.float32).is_steep(error, 1e-7)

    assert is_steep(mc.Gaussian(1.0))
    assert not is_steep(mc.Gaussian(0.01))
    assert not is_steep(mc.Cauchy(0.01) + 3)
    assert is_steep(mc.Matern(100.0, 0.5))
    assert is_steep(Squares())
    assert is_steep(mc.Gaussian(0.01) * mc.Linear())
    assert not is_steep(mc.Linear())


# --- which products it computes ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("only_tiles")
@pytest.mark.parametrize("name", OTHERS)
def test_other_kernels_take_tiles(name):
    X, Z, V = draws(6, d=3)
    X, Z = abs(X), abs(Z)
    expected = ROWS[name](X, Z) @ V
    np.testing.assert_allclose(product(ROWS[name], X, Z, V), expected, rtol=1e-10, atol=1e-12)


def test_tensors_on_cuda_are_multiplied_by_the_kernel_and_those_elsewhere_by_tiles(request):
    X, Z, V = map(there, draws(7))
    kernel = mc.Gaussian(0.2)
    assert pick_backend(kernel, Points(X.cpu())) is array
    request.getfixturevalue("compiled_here")
    asked = request.getfixturevalue("asked")
    assert pick_backend(kernel, Points(X)) is backend
    expected = kernel(X, Z) @ V
    G, psi = mc.Gram(kernel, X, Z), mc.Expansion(kernel, Z, V)
    for found in (G @ V, (V[:70].T @ G @ V), psi(X)):
        assert type(found) is torch.Tensor
    torch.testing.assert_close(G @ V, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(psi(X), expected, rtol=1e-12, atol=1e-12)
    assert set(asked) == {70, 140}


@pytest.mark.usefixtures("compiled_here")
def test_estimators_on_a_device_multiply_by_the_kernel(monkeypatch, asked):
    X, _, V = draws(9, n=60, m=60)
    here = mc.KernelRidge(0.1, kernel=mc.Gaussian(0.2)).fit(X, V)
    monkeypatch.setattr(devices.Place, "is_processor", False)
    model = mc.KernelRidge(0.1, kernel=mc.Gaussian(0.2)).fit(there(X), there(V))
    found = model.predict(there(X[:9]))
    assert type(found) is torch.Tensor
    np.testing.assert_allclose(found.cpu().numpy(), here.predict(X[:9]), rtol=1e-12, atol=1e-12)
    assert 60 in asked


@pytest.mark.usefixtures("only_tiles")
def test_many_right_hand_sides_take_tiles_and_one_product():
    X, Z, _ = draws(6)
    V = np.random.default_rng(7).normal(size=(140, 65))
    kernel = mc.Gaussian(0.2)
    np.testing.assert_allclose(product(kernel, X, Z, V), kernel(X, Z) @ V, rtol=1e-12, atol=1e-12)


def test_a_kernel_is_compiled_once_for_all_its_parameters():
    compiled = [backend._profile(backend.trace(mc.Gaussian(gamma)))[0] for gamma in (0.1, 0.2)]
    assert compiled[0] is compiled[1]
    other = backend._profile(backend.trace(mc.Cauchy(0.1)))[0]
    # names tell functions apart in the caches of Triton
    assert compiled[0].__name__ != other.__name__


def test_values_that_overflow_are_refused_as_elsewhere():
    X = np.full((3, 2), 1e15, np.float32)
    with pytest.raises(ValueError, match="overflows .*float32.*scale X"):
        product(mc.Polynomial(5), X, None, np.ones((3, 1), np.float32))
    with pytest.raises(ValueError, match="Squared norms and distances overflow .*float32"):
        product(
            mc.Gaussian(1.0),
            np.array([[1e25], [0.0]], np.float32),
            None,
            np.ones((2, 1), np.float32),
        )


@pytest.mark.parametrize(
    "error", [RuntimeError("Failed to find C compiler."), torch.OutOfMemoryError("no memory")]
)
def test_products_take_tiles_where_the_kernel_does_not_run(error, monkeypatch, caplog):
    def fail(*_):
        raise error

    monkeypatch.setattr(backend, "_product", fail)
    X, Z, V = draws(8)
    with caplog.at_level("INFO", logger="mercer"):
        found = product(mc.Gaussian(0.2), X, Z, V)
    np.testing.assert_allclose(found, mc.Gaussian(0.2)(X, Z) @ V, rtol=1e-12, atol=1e-12)
    assert (
        f"Gaussian(gamma=0.2) take tiles, since its Triton kernel does not run: {error}"
        in caplog.text
    )


# --- compilation, which needs no device -------------------------------------------------------------------------------

COMPILE = """
import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import mercer as mc
from mercer._compute import triton as backend

kernel, kind, d, p, capability = eval(sys.argv[1])
double = kind == "fp64"
form = backend._form(kernel, backend._expression(kernel), torch.float64 if double else torch.float32)
tile = backend.device_tile(d, p, double, capability // 10)
function = backend._multiply_few if tile.few else backend._multiply_many
names = [name for name in function.arg_names if not name.isupper()]
halves = dict.fromkeys(["x1", "x2", "z1", "z2"], "*fp64" if double else "*fp16")
numbers = dict.fromkeys(["n", "m", "p", "d", "stride", "step"], "i32")
special = {"sums": "*fp64", "marks": "*i8"} | halves | numbers
types = {name: special.get(name, "*" + kind) for name in names}
options = {"VALUE": form.value, "DOT": form.dot, "RADIAL": form.radial, "DIFFER": True, "AGAIN": False, "CLOSE": 1e-6}
options |= {"D": d, "FEATURES": min(d, tile.features), "ROWS": tile.rows, "COLUMNS": tile.columns, "P": p, "WIDTH": p}
options |= {"FLUSH": tile.flush, "STAGES": tile.stages}
options = {name: value for name, value in options.items() if name in function.arg_names}
aligned = [name for name in names if types[name].startswith("*") or name in ("n", "m", "stride", "step")]
attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in aligned}
source = ASTSource(function, types | dict.fromkeys(options, "constexpr"), options, attributes)
options = {"num_warps": tile.warps, "num_stages": tile.stages, "enable_fp_fusion": True}
compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
assert compiled.asm["cubin"]
print(compiled.asm["ptx"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "instruction"),
    [
        (
            "mc.Gaussian(0.5), 'fp32', 64, 1, 90",
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
        ),
        (
            "mc.Gaussian(0.5), 'fp32', 128, 1, 80",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ),
        (
            "mc.Cauchy(0.5) * mc.Sigmoid(0.1) + mc.Linear(), 'fp32', 64, 16, 90",
            "wgmma.mma_async.sync.aligned.m64n32k8",
        ),
        (
            "mc.Matern(1.0, 2.5) + mc.RationalQuadratic(1.0, 0.5), 'fp64', 64, 16, 80",
            "f64.f64.f64.f64",
        ),
        ("mc.Matern(1.0, 2.5), 'fp32', 3, 16, 90", "ex2.approx"),
    ],
)
def test_the_kernel_is_compiled_to_tensor_cores(case, instruction, tmp_path):
    environment = os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, case],
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert instruction in done.stdout
