"""Kernel PCA: time and peak memory of Mercer and scikit-learn, each fit in a separate process.

Gaussian kernel with gamma "scale", 16 components, standard normal data in 20 dimensions. Eigenvalues are compared, so
that no system wins by stopping early. Ratios come from alternating runs on the same computer.

Run: python benchmarks/kernel_pca.py [--n 10000] [--repeat 3] [--large]
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

COMPONENTS, FEATURES = 16, 20


def points(n):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, FEATURES))


def mercer():
    import mercer as mc

    return lambda n_components, gamma: mc.KernelPCA(
        n_components, kernel=mc.Gaussian(gamma), random_state=0
    )


def scikit_learn(solver):
    from sklearn.decomposition import KernelPCA

    return lambda m, gamma: KernelPCA(
        m, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0
    )


SYSTEMS = {
    "Mercer": mercer,
    "scikit-learn, auto": lambda: scikit_learn("auto"),
    "scikit-learn, arpack": lambda: scikit_learn("arpack"),
    "scikit-learn, randomized": lambda: scikit_learn("randomized"),
}


def child(name, n):
    """Run one fit and print its seconds and memory, without imports, data and a small fit that compiles the code."""
    X, estimator = points(n), SYSTEMS[name]()
    gamma = 1 / (X.shape[1] * X.var())
    estimator(2, gamma).fit(X[:2500])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model = estimator(COMPONENTS, gamma).fit(X)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    residual = float(model.residuals_.max()) if hasattr(model, "residuals_") else None
    print(
        json.dumps([seconds, (peak - before) / 1e6, list(map(float, model.eigenvalues_)), residual])
    )


def measure(name, n):
    command = [sys.executable, __file__, "--child", name, "--n", str(n)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also run Mercer on 100 000 points")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.n)
        return
    runs = {name: [] for name in SYSTEMS}
    for _ in range(arguments.repeat):
        for name in SYSTEMS:
            runs[name].append(measure(name, arguments.n))
    exact = np.array(runs["scikit-learn, auto"][0][2])
    base = statistics.median(run[0] for run in runs["Mercer"])
    print(f"KernelPCA, Gaussian, {COMPONENTS} components, n = {arguments.n}, d = {FEATURES}")
    print(
        f"{'':26}{'s':>8}{'x Mercer':>10}{'peak GB':>9}{'eigenvalues, largest relative difference':>44}"
    )
    for name, each in runs.items():
        seconds = statistics.median(run[0] for run in each)
        memory = statistics.median(run[1] for run in each)
        gap = np.abs(np.array(each[0][2]) / exact - 1).max()
        note = f"   residual {each[0][3]:.0e}" if each[0][3] is not None else ""
        print(f"{name:26}{seconds:8.2f}{seconds / base:10.1f}{memory:9.2f}{gap:44.0e}{note}")
    if arguments.large:
        seconds, memory, _, residual = measure("Mercer", 100_000)
        print(
            f"{'Mercer, n = 100 000':26}{seconds:8.1f}{'':10}{memory:9.2f}   residual {residual:.0e}"
        )


if __name__ == "__main__":
    main()
