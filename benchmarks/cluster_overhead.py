"""Fits to a Dask array on two workers with one thread each, beside the same fits to rows in memory on two threads.

Standard normal rows in 20 dimensions (float32), made by the tasks, y = sin of a projection, Gaussian kernel, gamma
1/20, landmarks from the rule "uniform". Both fits alternate; prints seconds of each, their ratio, and the mean squared
error or variance of both models, which select other landmarks.

Run: python benchmarks/cluster_overhead.py [--rows 1000000] [--landmarks 1000 2000] [--repeat 3] [--only ridge pca]
"""

import argparse
import time

import dask.array as da
import numpy as np

import mercer as mc
from distributed import Client, LocalCluster
from mercer.estimators import KernelRidge

FEATURES, CHUNK = 20, 20_000
# Weights of the projection, of norm 1.
W = np.linspace(0, 1, FEATURES, dtype=np.float32) / np.linalg.norm(np.linspace(0, 1, FEATURES))


def block(block_info):
    """Return a block of rows, seeded by the number of its first row."""
    (start, stop), _ = block_info[None]["array-location"]
    return np.random.default_rng(start).standard_normal((stop - start, FEATURES), dtype=np.float32)


def ridge(n, m):
    return KernelRidge(
        1e-6 * n, kernel=mc.Gaussian(1 / FEATURES), landmarks=m, rule="uniform", random_state=0
    )


def pca(_, m):
    return mc.KernelPCA(
        16, kernel=mc.Gaussian(1 / FEATURES), landmarks=m, rule="uniform", random_state=0
    )


def quality(model, X, y):
    """Return the mean squared error of a ridge regression, the share of variance of principal components."""
    if isinstance(model, KernelRidge):
        return float(np.mean((model.predict(X) - y) ** 2))
    return float(model.explained_variance_ratio_.sum())


def compared(make, n, m, repeat):
    """Print seconds and quality of both fits, several times."""
    blocks = da.map_blocks(block, chunks=((CHUNK,) * (n // CHUNK), (FEATURES,)), dtype=np.float32)
    targets = da.sin(2 * (blocks @ W))
    rows, y = blocks.compute(), targets.compute()
    some = slice(0, 4 * CHUNK)
    # code is compiled, and workers have imported it
    make(n, 50).fit(rows[some], y[some])
    make(n, 50).fit(blocks[some], targets[some])
    ratios = []
    for _ in range(repeat):
        start = time.perf_counter()
        own = make(n, m).fit(rows, y)
        middle = time.perf_counter()
        tasks = make(n, m).fit(blocks, targets)
        seconds = middle - start, time.perf_counter() - middle
        ratios.append(seconds[1] / seconds[0])
        found = [quality(model, rows[some], y[some]) for model in (own, tasks)]
        print(
            f"{make.__name__:6} n = {n} m = {m}: in memory {seconds[0]:6.1f} s  Dask {seconds[1]:6.1f} s  "
            f"ratio {ratios[-1]:.2f}  quality {found[0]:.4f} {found[1]:.4f}",
            flush=True,
        )
    print(f"median ratio {np.median(ratios):.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--landmarks", type=int, nargs="+", default=[1000, 2000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["ridge", "pca"])
    options = parser.parse_args()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        for make in (ridge, pca):
            if make.__name__ in options.only:
                for m in options.landmarks:
                    compared(make, options.rows, m, options.repeat)


if __name__ == "__main__":
    main()
