"""Products K(X, Z) @ v with a Gaussian kernel: Mercer and its peers in one run.

The reference is the matrix product X @ Z.T, which stores n m numbers. Ratios to its time are taken in each round,
because the speed of a shared computer changes; the median over the rounds is printed. The error is the largest
deviation of a few rows from extended precision, divided by sum_j |v_j|. "Z with Z" is the product with the symmetric
matrix of Z; its time is multiplied by n / m, to be one for as many values.

    python benchmarks/products.py [--rounds 5] [--rows 20000]
"""

import argparse
import importlib.util
import time

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

import mercer as mc

SIZES = [(3, 1.0), (10, 1.0), (50, 1.0), (784, 0.5)]
CHECKED = 5


def main():
    """Print one row for each number of columns, type and contender."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    parser.add_argument(
        "--rows", type=int, default=20_000, help="rows of X and Z (half of Z for 784 columns)"
    )
    options = parser.parse_args()
    print(f"{'d':>4} {'type':8} {'contender':24} {'seconds':>8} {'ratio':>6} {'error':>8}")
    for d, share in SIZES:
        for dtype in (np.float32, np.float64):
            table(d, dtype, options.rows, int(share * options.rows), options.rounds)


def table(d, dtype, n, m, rounds):
    """Time all contenders in each round."""
    rng = np.random.default_rng(0)
    X, Z, v = (rng.normal(size=size).astype(dtype) for size in ((n, d), (m, d), (m, 1)))
    gamma = 1 / (2 * d)
    contenders = {
        "X @ Z.T alone": lambda: X @ Z.T,
        "mercer": lambda: mercer_product(X, Z, v, gamma),
    }
    contenders["mercer, Z with Z"] = lambda: mercer_product(Z, None, v, gamma)
    contenders["scikit-learn in chunks"] = lambda: chunked_product(X, Z, v, gamma)
    if importlib.util.find_spec("pykeops"):
        contenders["KeOps"] = lambda: keops_product(X, Z, v, gamma)
    # compile, and start the threads
    mercer_product(X[:600], Z, v, gamma)
    mercer_product(Z[:600], None, v[:600], gamma)
    seconds = {name: [] for name in contenders}
    errors = dict.fromkeys(contenders, np.nan)
    for _ in range(rounds):
        for name, contender in contenders.items():
            start = time.perf_counter()
            result = contender()
            seconds[name].append(
                (time.perf_counter() - start) * (n / m if "Z with Z" in name else 1)
            )
            if "Z with Z" in name:
                errors[name] = error(result, Z, Z, v, gamma)
            elif result.shape == (n, 1):
                errors[name] = error(result, X, Z, v, gamma)
            del result
    bare = np.array(seconds["X @ Z.T alone"])
    for name, times in seconds.items():
        ratio = np.median(np.array(times) / bare)
        print(
            f"{d:4} {np.dtype(dtype).name:8} {name:24} {np.median(times):8.3f} {ratio:6.2f} {errors[name]:8.1e}",
            flush=True,
        )


def mercer_product(X, Z, v, gamma):
    """Multiply by Mercer's lazy Gram matrix."""
    return mc.Gram(mc.Gaussian(gamma), X, Z) @ v


def chunked_product(X, Z, v, gamma, rows=2000):
    """Multiply by blocks of rows of scikit-learn's kernel matrix, to limit memory."""
    return np.concatenate(
        [rbf_kernel(X[i : i + rows], Z, gamma=gamma) @ v for i in range(0, len(X), rows)]
    )


def keops_product(X, Z, v, gamma):
    """Multiply by a symbolic matrix of KeOps."""
    from pykeops.numpy import LazyTensor

    scale = X.dtype.type(np.sqrt(gamma))
    x, z = LazyTensor(scale * X[:, None, :]), LazyTensor(scale * Z[None, :, :])
    return (-((x - z) ** 2).sum(-1)).exp() @ v


def error(result, X, Z, v, gamma):
    """Compare the first rows with extended precision."""
    X, Z, v = (a.astype(np.longdouble) for a in (X[:CHECKED], Z, v))
    s = np.stack([((x - Z) ** 2).sum(1) for x in X])
    return float(np.max(np.abs(result[:CHECKED] - np.exp(-gamma * s) @ v)) / np.sum(np.abs(v)))


if __name__ == "__main__":
    main()
