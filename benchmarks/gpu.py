"""Products K(X, X) @ V and estimators on a CUDA device: Mercer, the bound of the device, KeOps, GPyTorch and torch.

The bound is the larger of three products X X' at the rate of a large product in TF32, and n^2 exponentials at the rate
of a kernel that computes nothing else. Errors are the largest of some rows over K |V|, compared with float64. KeOps
runs in a process of its own, which it may crash; "scheme" is a CUDA kernel of its plan, one row for each thread.

    python benchmarks/gpu.py [--quick] [--rows 200000]

``--quick`` compares products of many kernels, types and sizes with float64, and times little; the whole takes a few
minutes. With TRITON_INTERPRET=1 in the environment, ``--device cpu --rows 400`` tests the script without a device.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time

import numpy as np

import mercer as mc

try:
    import torch
    import triton
    import triton.language as tl
except ModuleNotFoundError:
    torch = None

# Features, rows as a share of --rows, columns of V.
CASES = [
    (3, 1.0, 1),
    (3, 1.0, 16),
    (50, 1.0, 1),
    (50, 1.0, 16),
    (784, 0.5, 1),
    (784, 0.5, 16),
    (784, 0.5, 100),
]
KERNELS = {
    "Gaussian": mc.Gaussian(0.1), "Matern 1/2": mc.Matern(2.0, 0.5), "Matern 5/2": mc.Matern(2.0, 2.5),
    "rational": mc.RationalQuadratic(2.0, 0.7), "Cauchy": mc.Cauchy(0.1), "linear": mc.Linear(),
    "polynomial": mc.Polynomial(3, gamma=0.1), "sigmoid": mc.Sigmoid(0.1), "sum": mc.Gaussian(0.1) + mc.Linear(),
    "product": mc.Gaussian(0.1) * mc.Polynomial(2), "exp": mc.Exp(0.1 * mc.Linear()), "Laplacian": mc.Laplacian(0.1),
}  # fmt: skip
CHECKED = 12
ROUNDS = 3
SCHEME = """
extern "C" __global__ void scheme(float* out, const float* x, const float* v, float gamma, int n) {
    __shared__ float rows[128 * D];
    __shared__ float weights[128 * P];
    int i = blockIdx.x * 128 + threadIdx.x;
    float own[D], total[P];
    for (int k = 0; k < D; k++) own[k] = i < n ? x[i * D + k] : 0.f;
    for (int q = 0; q < P; q++) total[q] = 0.f;
    for (int start = 0; start < n; start += 128) {
        int j = start + threadIdx.x;
        __syncthreads();
        for (int k = 0; k < D; k++) rows[threadIdx.x * D + k] = j < n ? x[j * D + k] : 0.f;
        for (int q = 0; q < P; q++) weights[threadIdx.x * P + q] = j < n ? v[j * P + q] : 0.f;
        __syncthreads();
        for (int j = 0; j < 128; j++) {
            float s = 0.f;
            for (int k = 0; k < D; k++) { float t = own[k] - rows[j * D + k]; s += t * t; }
            float value = __expf(-gamma * s);
            for (int q = 0; q < P; q++) total[q] += value * weights[j * P + q];
        }
    }
    if (i < n) for (int q = 0; q < P; q++) out[i * P + q] = total[q];
}
"""
KEOPS = """
import sys, time, torch
from pykeops.torch import LazyTensor

n, d, p = map(int, sys.argv[1:])
X = (0.5 / d) ** 0.5 * torch.randn(n, d, device="cuda")
V = torch.randn(n, p, device="cuda")
times = []
for _ in range(3):
    torch.cuda.synchronize()
    start = time.perf_counter()
    (-((LazyTensor(X[:, None, :]) - LazyTensor(X[None, :, :])) ** 2).sum(-1)).exp() @ V
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
print(min(times[1:]))
"""


def main():
    """Print the tables of products and estimators."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="compare products with float64, and time little"
    )
    parser.add_argument(
        "--rows", type=int, default=200_000, help="rows of X; half of them for 784 columns"
    )
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to test this script")
    options = parser.parse_args()
    if torch is None or options.device == "cuda" and not torch.cuda.is_available():
        print("benchmarks/gpu.py needs a CUDA device, PyTorch and Triton; nothing was measured.")
        return
    name = torch.cuda.get_device_name() if options.device == "cuda" else "processor"
    print(f"{name}, torch {torch.__version__}, {os.cpu_count()} cores; seconds")
    if options.quick:
        errors(options.device)
        products(options.rows // 4, options.device, CASES[::2])
        return
    products(options.rows, options.device, CASES)
    profiles(options.rows // 2, options.device)
    estimators(options.rows, options.device)


def products(n, device, cases):
    """Time K(X, X) @ V for a Gaussian kernel and float32 rows, and data with close pairs."""
    exponentials, tf32 = exponential_rate(device), product_rate(device)
    print(
        f"\n{tf32 / 1e12:.0f} TFLOP/s in TF32, {exponentials / 1e12:.2f}e12 exponentials a second"
    )
    names = ("bound", "mercer", "ratio", "scheme", "KeOps", "GPyTorch", "torch")
    print(f"{'d':>4} {'n':>8} {'p':>4}" + "".join(f" {each:>9}" for each in names) + "     error")
    for d, share, p in cases:
        X, V = drawn(int(share * n), d, p, device)
        bound = max(6 * len(X) ** 2 * d / tf32, len(X) ** 2 / exponentials)
        kernel = mc.Gaussian(0.5 / d)
        G = mc.Gram(kernel, X)
        took = seconds(lambda G=G, V=V: G @ V, device)
        peers = (
            attempt(scheme, X, V, device) if device == "cuda" and d * p <= 800 else np.nan,
            attempt(keops, *X.shape, p) if device == "cuda" and p <= 16 else np.nan,
            attempt(gpytorch, X, V, device) if len(X) ** 2 * 4 < 50e9 else np.nan,
            seconds(lambda X=X, V=V, d=d: in_chunks(X, V, 0.5 / d), device) if p == 1 else np.nan,
        )
        row = "".join(f" {each:9.4f}" for each in (bound, took, took / bound, *peers))
        print(f"{d:4} {len(X):8} {p:4}{row} {error(G @ V, X, V, kernel):9.1e}", flush=True)
    X, V = drawn(n, 50, 1, device)
    for name, rows in {
        "1 % near duplicates": duplicates(X),
        "50 tight clusters": clusters(X),
    }.items():
        kernel = mc.Gaussian(0.01)
        G = mc.Gram(kernel, rows)
        took = seconds(lambda G=G: G @ V, device)
        print(f"{name:23} {took:.4f}, error {error(G @ V, rows, V, kernel):.1e}")


def profiles(n, device):
    """Time one product for each kernel, in 3 and 50 columns."""
    print(f"\n{'kernel':12} {'d = 3':>9} {'d = 50':>9}   n = {n}")
    for name, kernel in KERNELS.items():
        times = []
        for d in (3, 50):
            X, V = drawn(n, d, 1, device)
            G = mc.Gram(kernel, 0.3 * X)
            times.append(seconds(lambda G=G, V=V: G @ V, device))
        print(f"{name:12} {times[0]:9.4f} {times[1]:9.4f}", flush=True)


def errors(device):
    """Compare products of all kernels, types and ragged sizes with float64."""
    print(f"\n{'kernel':12} {'type':8} largest error over K |V|")
    for name, kernel in KERNELS.items():
        for dtype in (torch.float32, torch.float64):
            found = []
            for d, n, p in (
                (1, 3000, 1),
                (3, 1021, 5),
                (20, 777, 17),
                (65, 3001, 1),
                (65, 500, 33),
                (20, 600, 70),
            ):
                X, V = (each.to(dtype) for each in drawn(n, d, p, device))
                X *= 0.3
                X[: n // 9] = X[-(n // 9) :] * (1 + 1e-5)
                found.append(error(mc.Gram(kernel, X) @ V, X, V, kernel))
            print(f"{name:12} {str(dtype).removeprefix('torch.'):8} {max(found):.1e}", flush=True)


def estimators(n, device):
    """Time fits and predictions on the device and on the processor."""
    X = np.random.default_rng(0).normal(size=(5 * n, 20)).astype(np.float32)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 2
    kernel = mc.Gaussian(0.02)
    options = {"kernel": kernel, "rule": "uniform", "random_state": 0}
    cases = {
        "KernelRidge, 2 000 landmarks": (mc.KernelRidge(1.0, landmarks=min(2000, n // 10), **options), n, True),
        "KernelRidge, 10 000 landmarks": (
            mc.KernelRidge(1.0, landmarks=min(10_000, n // 10), memory="40GB", **options), 5 * n, False
        ),
        "KernelPCA(20)": (mc.KernelPCA(20, kernel=kernel, random_state=0), n // 4, True),
        "SVC": (mc.SVC(kernel=kernel), n // 4, True),
    }  # fmt: skip
    print(
        f"\n{'estimator':30} {'n':>8} {'device':>9} {'predict':>9} {'processor':>9} {'difference':>11}"
    )
    for name, (model, rows, compare) in cases.items():
        target = (y > 0).astype(np.int64) if name == "SVC" else y
        data = (
            torch.as_tensor(X[:rows], device=device),
            torch.as_tensor(target[:rows], device=device),
        )
        # the first fit compiles
        model.fit(data[0][: rows // 10], data[1][: rows // 10])
        fit, there = timed(lambda model=model, data=data: model.fit(*data), device)
        use = there.transform if hasattr(there, "transform") else there.predict
        predict, found = timed(lambda use=use, data=data: use(data[0]), device)
        here, difference = np.nan, np.nan
        if compare:
            here, plain = timed(
                lambda model=model, rows=rows, t=target: model.fit(X[:rows], t[:rows]), device
            )
            expected = (
                plain.transform(X[:rows])
                if hasattr(plain, "transform")
                else plain.predict(X[:rows])
            )
            difference = np.abs(found.cpu().numpy() - expected).mean() / np.abs(expected).mean()
        print(
            f"{name:30} {rows:8} {fit:9.3f} {predict:9.3f} {here:9.3f} {difference:11.1e}",
            flush=True,
        )


# --- data -------------------------------------------------------------------------------------------------------------


def drawn(n, d, p, device):
    """Return normal rows (n, d) and coefficients (n, p) in float32."""
    torch.manual_seed(0)
    return torch.randn(n, d, device=device), torch.randn(n, p, device=device)


def duplicates(X):
    """Return rows of which one in a hundred has a near duplicate, anywhere."""
    X = X.clone()
    places = torch.randperm(len(X), device=X.device)[: len(X) // 50].reshape(2, -1)
    X[places[0]] = X[places[1]] + 1e-3 * torch.randn_like(X[places[1]])
    return X


def clusters(X):
    """Return rows in 50 tight clusters, in any order."""
    return X[torch.randint(50, (len(X),), device=X.device)] + 1e-2 * X


# --- rates and peers --------------------------------------------------------------------------------------------------


def timed(function, device):
    """Return the time of one call, and its result."""
    wait(device)
    start = time.perf_counter()
    found = function()
    wait(device)
    return time.perf_counter() - start, found


def wait(device):
    """Wait for the device."""
    if device == "cuda":
        torch.cuda.synchronize()


def seconds(function, device):
    """Return the median time of a function after its first call, which compiles."""
    function()
    return float(np.median([timed(function, device)[0] for _ in range(ROUNDS)]))


def attempt(function, *arguments):
    """Return the time of a peer, NaN where it is not installed or does not run."""
    try:
        return function(*arguments)
    except Exception as error:
        print(
            f"  {function.__name__} does not run: {type(error).__name__}: {str(error).strip()[-100:]}"
        )
        return np.nan


def product_rate(device, order=8192):
    """Return the operations a second of a large product in TF32."""
    order = order if device == "cuda" else 256
    A = torch.randn(order, order, device=device)
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    rate = 2 * order**3 / seconds(lambda: A @ A, device)
    torch.backends.cuda.matmul.allow_tf32 = allowed
    return rate


def exponential_rate(device, width=1024, repeats=4096):
    """Return the exponentials a second of a kernel that computes them in registers."""
    blocks = 2**14 if device == "cuda" else 2
    repeats = repeats if device == "cuda" else 16
    kernel = triton.jit(repeat_exponentials)
    values = torch.ones(blocks * width, device=device)
    return (
        blocks
        * width
        * repeats
        / seconds(lambda: kernel[(blocks,)](values, width, repeats), device)
    )


def repeat_exponentials(x, width: tl.constexpr, repeats: tl.constexpr):
    """Replace numbers by repeated exponentials."""
    at = x + tl.program_id(0) * width + tl.arange(0, width)
    values = tl.load(at)
    for _ in range(repeats):
        values = tl.exp2(-values)
    tl.store(at, values)


def scheme(X, V, device):
    """Time a CUDA kernel of KeOps' plan; PyTorch compiles it."""
    n, d = X.shape
    p = V.shape[1]
    source = SCHEME.replace("128 * D", f"{128 * d}").replace("128 * P", f"{128 * p}")
    source = f"#define D {d}\n#define P {p}\n{source}"
    kernel = torch.cuda._compile_kernel(source, "scheme", nvcc_options=["--use_fast_math"])
    out = torch.empty_like(V)
    grid = (-(-n // 128), 1, 1)
    return seconds(lambda: kernel(grid, (128, 1, 1), (out, X, V, 0.5 / d, n)), device)


def keops(n, d, p):
    """Time KeOps in another process."""
    if importlib.util.find_spec("pykeops") is None:
        return np.nan
    command = [sys.executable, "-c", KEOPS, *map(str, (n, d, p))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr or f"exit status {done.returncode}")
    return float(done.stdout.split()[-1])


def gpytorch(X, V, device):
    """Time GPyTorch, which stores the matrix."""
    if importlib.util.find_spec("gpytorch") is None:
        return np.nan
    from gpytorch.kernels import RBFKernel

    kernel = RBFKernel().to(device)
    kernel.lengthscale = X.shape[1] ** 0.5
    with torch.no_grad():
        return seconds(lambda: kernel(X) @ V, device)


def in_chunks(X, V, gamma, rows=4096):
    """Multiply by kernel values of some rows at a time, as a user of torch would."""
    norms = (X * X).sum(1)
    parts = []
    for chunk, sizes in zip(X.split(rows), norms.split(rows), strict=True):
        s = (sizes[:, None] + norms - 2 * (chunk @ X.T)).clamp_min_(0)
        parts.append(s.mul_(-gamma).exp_() @ V)
    return torch.cat(parts)


def error(found, X, V, kernel):
    """Return the largest error of some rows over K |V|."""
    X, V, found = (np.asarray(each.double().cpu()) for each in (X, V, found))
    rows = np.linspace(0, len(X) - 1, CHECKED).astype(int)
    K = kernel(X[rows], X)
    return float(np.max(abs(found[rows] - K @ V) / (abs(K) @ abs(V))))


if __name__ == "__main__":
    main()
