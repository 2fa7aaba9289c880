"""Products K(X, X) @ V with a Gaussian kernel on a CUDA device: Mercer, its lower bounds and KeOps in one run.

The bounds are three products of TF32 of the same rows, which torch writes to memory tile by tile, and n^2 exponentials
at the rate of a kernel that computes nothing else. The ratio is the time of Mercer over the larger bound; the error is
the largest deviation of a few rows from float64, divided by sum_j |v_j|.

    python benchmarks/gpu.py [--rounds 3] [--rows 1000000]
"""

from __future__ import annotations

import argparse
import importlib.util
import time

import numpy as np

import mercer as mc

try:
    import torch
    import triton
    import triton.language as tl
except ModuleNotFoundError:
    torch = None

COLUMNS = (3, 50, 784)
RIGHT_HAND_SIDES = (1, 16)
CHECKED = 5
# Rows and columns of a tile of the products in torch, and lengths of the kernel of exponentials.
TILE = 8192, 32768
WIDTH, REPEATS = 1024, 256


def main():
    """Print one row for each number of columns, type and number of right-hand sides."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds; the fastest counts")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of X, a tenth of them for float64")
    options = parser.parse_args()
    if torch is None or not torch.cuda.is_available():
        print("benchmarks/gpu.py needs a CUDA device, PyTorch and Triton; nothing was measured.")
        return
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; seconds")
    names = ("mercer", "3 TF32", "exp", "ratio", "KeOps", "error")
    print(f"{'d':>4} {'type':8} {'n':>8} {'p':>3}" + "".join(f" {name:>9}" for name in names))
    for d in COLUMNS:
        for dtype, n in ((torch.float32, options.rows), (torch.float64, options.rows // 10)):
            table(d, dtype, n, options.rounds, "cuda")


def table(d, dtype, n, rounds, device):
    """Time all contenders on one set of rows."""
    torch.manual_seed(0)
    X = torch.randn(n, d, dtype=dtype, device=device)
    gamma = 1 / (2 * d)
    exponentials = n**2 / exponentials_per_second(X, rounds)
    products = seconds(lambda: tf32_products(X), rounds) if dtype == torch.float32 else np.nan
    for p in RIGHT_HAND_SIDES:
        V = torch.randn(n, p, dtype=dtype, device=device)
        G = mc.Gram(mc.Gaussian(gamma), X)
        found = G @ V
        mercer = seconds(lambda G=G, V=V: G @ V, rounds)
        keops = np.nan
        if importlib.util.find_spec("pykeops"):
            keops = seconds(lambda V=V: keops_product(X, V, gamma), rounds)
        ratio = mercer / np.fmax(products, exponentials)
        name = str(dtype).removeprefix("torch.")
        times = "".join(f" {each:9.3g}" for each in (mercer, products, exponentials, ratio, keops))
        print(f"{d:4} {name:8} {n:8} {p:3}{times} {error(found, X, V, gamma):9.1e}", flush=True)


def seconds(function, rounds):
    """Return the shortest time of a function; the first call compiles."""
    times = []
    for _ in range(rounds + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def tf32_products(X):
    """Multiply X X' three times in TF32, tile by tile."""
    allowed, torch.backends.cuda.matmul.allow_tf32 = torch.backends.cuda.matmul.allow_tf32, True
    rows, columns = TILE
    for left in X.split(rows):
        for right in X.split(columns):
            for _ in range(3):
                left @ right.T
    torch.backends.cuda.matmul.allow_tf32 = allowed


def exponentials_per_second(X, rounds):
    """Return the rate of a kernel that computes exponentials in registers."""
    blocks = 2**14 if X.is_cuda else 2
    kernel = triton.jit(repeat_exponentials)
    values = torch.ones(blocks * WIDTH, dtype=X.dtype, device=X.device)
    time_of_all = seconds(lambda: kernel[(blocks,)](values, WIDTH, REPEATS, enable_fp_fusion=True), rounds)
    return blocks * WIDTH * REPEATS / time_of_all


def repeat_exponentials(x, width: tl.constexpr, repeats: tl.constexpr):
    """Replace numbers by repeated exponentials."""
    at = x + tl.program_id(0) * width + tl.arange(0, width)
    values = tl.load(at)
    for _ in range(repeats):
        values = tl.exp(-values)
    tl.store(at, values)


def keops_product(X, V, gamma):
    """Multiply by a symbolic matrix of KeOps."""
    from pykeops.torch import LazyTensor

    scaled = gamma**0.5 * X
    x, z = LazyTensor(scaled[:, None, :]), LazyTensor(scaled[None, :, :])
    return (-((x - z) ** 2).sum(-1)).exp() @ V


def error(found, X, V, gamma):
    """Compare the first rows with float64."""
    X, V, found = X.double(), V.double(), found[:CHECKED].double()
    s = torch.stack([((x - X) ** 2).sum(1) for x in X[:CHECKED]])
    return float(torch.max(abs(found - torch.exp(-gamma * s) @ V) / abs(V).sum(0)))


if __name__ == "__main__":
    main()
