"""Two-sample tests: power beside MMDAgg written out in NumPy, and time beside hyppo, a package of bench-tables.

MMDAgg (Schrab, Kim, Albert, Laurent, Guedj, Gretton, JMLR 24, 2023) has the kernels of ``kernel="aggregate"`` with
equal weights: half of the permutations give quantiles of each kernel, the other half correct the level by bisection.

Run: python benchmarks/two_sample.py [--draws 50] [--n 300] [--hyppo 1000]
"""

import argparse
import time

import numpy as np
from scipy.spatial.distance import cdist

import mercer as mc

LENGTHS = 2.0 ** np.arange(-5, 3)


def perturbed(rng, n, periods):
    x, height = rng.uniform(size=(2, 6 * n))
    return x[2 * height < 1 + np.sin(2 * np.pi * periods * x)][:n, None]


def aggregated(X, Z, rng, number=250, level=0.05):
    """Return whether MMDAgg rejects."""
    pooled = np.vstack([X, Z])
    m, n = len(X), len(Z)
    distances = cdist(pooled, pooled)
    middle = np.median(distances[np.triu_indices(m + n, 1)])
    weights = np.repeat([1 / m, -1 / n], [m, n])
    W = np.column_stack([weights, *(rng.permutation(weights) for _ in range(2 * number))])
    scaled = [distances / (middle * length) for length in LENGTHS]
    kernels = [np.exp(-(each**2)) for each in scaled] + [np.exp(-each) for each in scaled]
    values = np.array([np.sum(W * (K @ W), axis=0) for K in kernels])
    first, second = np.sort(values[:, : number + 1], axis=1), values[:, number + 1 :]

    def thresholds(u):
        place = int(np.ceil((number + 1) * (1 - u))) - 1
        return first[:, max(place, 0)]

    low, high = 0.0, 1.0
    for _ in range(50):
        u = 0.5 * (low + high)
        if np.mean((second > thresholds(u)[:, None]).any(axis=0)) <= level:
            low = u
        else:
            high = u
    return bool((values[:, 0] > thresholds(low)).any())


def power(draws, n):
    problems = {
        f"{p} periods": lambda rng, p=p: (rng.uniform(size=(n, 1)), perturbed(rng, n, p))
        for p in range(1, 7)
    }
    problems["shift of 0.2 in 3 columns"] = lambda rng: (
        rng.standard_normal((n, 3)),
        rng.standard_normal((n, 3)) + 0.2,
    )
    problems["no difference"] = lambda rng: (rng.uniform(size=(n, 2)), rng.uniform(size=(n, 2)))
    for name, draw in problems.items():
        found = np.zeros((draws, 3))
        for seed in range(draws):
            X, Z = draw(np.random.default_rng(seed))
            own = [
                mc.mmd_test(X, Z, kernel, random_state=seed).pvalue <= 0.05
                for kernel in ("aggregate", "rbf")
            ]
            found[seed] = *own, aggregated(X, Z, np.random.default_rng([seed, 1]))
        rates = found.mean(axis=0)
        print(
            f"{name}: aggregate {rates[0]:.2f}, rbf {rates[1]:.2f}, MMDAgg {rates[2]:.2f}",
            flush=True,
        )


def hyppo(n, reps=200):
    from hyppo.independence import Hsic
    from hyppo.ksample import MMD

    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((2, n, 3))
    calls = {
        "mmd_test": lambda: mc.mmd_test(X, Z, "rbf", n_permutations=reps),
        "mmd_test, aggregate": lambda: mc.mmd_test(X, Z, n_permutations=reps),
        "hyppo MMD": lambda: MMD().test(X, Z, reps=reps, auto=False),
        "hsic_test": lambda: mc.hsic_test(X, Z, "rbf", "rbf", n_permutations=reps),
        "hsic_test, aggregate": lambda: mc.hsic_test(X, Z, n_permutations=reps),
        "hyppo Hsic": lambda: Hsic().test(X, Z, reps=reps, auto=False),
    }
    for name, call in calls.items():
        if not name.startswith("hyppo"):
            call()
        start = time.process_time()
        call()
        print(
            f"{name}, n = {n}, {reps} permutations: {time.process_time() - start:.2f} s", flush=True
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--hyppo", type=int, default=1000)
    options = parser.parse_args()
    power(options.draws, options.n)
    hyppo(options.hyppo)
