"""Tests of samples, of independence and of fit: power beside published tests in plain NumPy, and time beside hyppo.

- MMDAgg (Schrab, Kim, Albert, Laurent, Guedj, Gretton, JMLR 24, 2023) and the test of Albert, Laurent, Marrel, Meynaoui
  (Annals of Statistics 50, 2022) with the kernels of "aggregate" and equal weights: half of the permutations give
  quantiles of each kernel, the other half correct the level by bisection.
- The wild bootstrap of Chwialkowski, Strathmann, Gretton (ICML 2016) for the kernel Stein discrepancy.
- hyppo, a package of bench-tables: median processor times of alternating calls.
- With --large, two samples of that many rows within the default memory: processor and wall time, and peak memory.

Run on one core: OMP_NUM_THREADS=1 python benchmarks/two_sample.py [--draws 50] [--n 300] [--hyppo 1000] [--large 0]
"""

import argparse
import resource
import time

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

import mercer as mc

LENGTHS = 2.0 ** np.arange(-5, 3)
FEW = 2.0**-4, 2.0**-2, 1.0
LEVEL = 0.05


def perturbed(rng, n, periods):
    x, height = rng.uniform(size=(2, 6 * n))
    return x[2 * height < 1 + np.sin(2 * np.pi * periods * x)][:n, None]


def kernels(X, lengths):
    """Return the Gaussian and Laplace matrices of lengths in units of the median distance."""
    distances = cdist(X, X)
    middle = np.median(distances[np.triu_indices(len(X), 1)])
    scaled = [distances / (middle * length) for length in lengths]
    return [np.exp(-(each**2)) for each in scaled] + [np.exp(-each) for each in scaled]


def corrected(values):
    """Return whether an aggregated test rejects, from values (number of kernels, 1 + 2 number), the data first."""
    number = values.shape[1] // 2
    first, second = np.sort(values[:, : number + 1], axis=1), values[:, number + 1 :]

    def thresholds(u):
        place = int(np.ceil((number + 1) * (1 - u))) - 1
        return first[:, max(place, 0)]

    low, high = 0.0, 1.0
    for _ in range(50):
        u = 0.5 * (low + high)
        if np.mean((second > thresholds(u)[:, None]).any(axis=0)) <= LEVEL:
            low = u
        else:
            high = u
    return bool((values[:, 0] > thresholds(low)).any())


def aggregated_mmd(X, Z, rng, number=250):
    weights = np.repeat([1 / len(X), -1 / len(Z)], [len(X), len(Z)])
    W = np.column_stack([weights, *(rng.permutation(weights) for _ in range(2 * number))])
    found = [np.sum(W * (K @ W), axis=0) for K in kernels(np.vstack([X, Z]), LENGTHS)]
    return corrected(np.array(found))


def aggregated_hsic(X, Y, rng, number=250):
    centred = [
        [K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean() for K in kernels(each, FEW)]
        for each in (X, Y)
    ]
    left = np.array([K.ravel() for K in centred[0]])
    orders = [np.arange(len(X)), *(rng.permutation(len(X)) for _ in range(2 * number))]
    found = [
        left @ np.array([L[np.ix_(order, order)].ravel() for L in centred[1]]).T for order in orders
    ]
    return corrected(np.array(found).reshape(len(found), -1).T)


def stein(X, score, rng, number=500):
    """Return whether the wild bootstrap rejects with the inverse multiquadric of the median distance."""
    n, d = X.shape
    S = score(X)
    differences = X[:, None] - X
    squares = np.sum(differences**2, axis=2)
    unit = np.median(np.sqrt(squares[np.triu_indices(n, 1)])) ** 2
    k = (1 + squares / unit) ** -0.5
    by_x = -(k**3 / unit)[:, :, None] * differences
    trace = d * k**3 / unit - 3 * squares * k**5 / unit**2
    U = k * (S @ S.T) + np.sum((S - S[:, None]) * by_x, axis=2) + trace
    signs = np.column_stack([np.ones(n), rng.choice([-1.0, 1.0], (n, number))])
    found = np.sum(signs * (U @ signs), axis=0)
    return np.mean(found >= found[0]) <= LEVEL


def show(name, draws, draw, own, plain):
    """Print the shares of draws that tests of Mercer, by name, and a plain test reject."""
    found = np.zeros((draws, len(own) + 1))
    for seed in range(draws):
        data = draw(np.random.default_rng(seed))
        found[seed] = (
            *(test(*data, seed) <= LEVEL for test in own.values()),
            plain(*data, np.random.default_rng([seed, 1])),
        )
    rates = zip([*own, "plain"], found.mean(axis=0), strict=True)
    print(f"{name}: " + ", ".join(f"{each} {rate:.2f}" for each, rate in rates), flush=True)


def samples(draws, n):
    own = {
        kernel: lambda X, Z, seed, kernel=kernel: (
            mc.mmd_test(X, Z, kernel, random_state=seed).pvalue
        )
        for kernel in ("aggregate", "rbf")
    }
    digits, labels = load_digits(return_X_y=True)

    def without(rng, number):
        others = np.flatnonzero(labels >= number)
        places = rng.choice(len(digits), n // 3, replace=False), rng.choice(others, n // 3)
        return digits[places[0]], digits[places[1]]

    problems = {
        f"{p} periods": lambda rng, p=p: (rng.uniform(size=(n, 1)), perturbed(rng, n, p))
        for p in range(1, 7)
    }
    for shift in (0.1, 0.2):
        problems[f"shift of {shift} in 3 columns"] = lambda rng, shift=shift: (
            rng.standard_normal((n, 3)),
            rng.standard_normal((n, 3)) + shift,
        )
    for number in (1, 2, 3):
        problems[f"digits without {number} of 10 classes, {n // 3} rows"] = (
            lambda rng, number=number: without(rng, number)
        )
    problems["no difference"] = lambda rng: (rng.uniform(size=(n, 2)), rng.uniform(size=(n, 2)))
    for name, draw in problems.items():
        show(name, draws, draw, own, aggregated_mmd)


def pairs(draws, n):
    own = {
        "aggregate": lambda X, Y, seed: mc.hsic_test(X, Y, random_state=seed).pvalue,
        "rbf": lambda X, Y, seed: mc.hsic_test(X, Y, "rbf", "rbf", random_state=seed).pvalue,
    }

    def waves(rng, periods):
        # density 1 + sin sin of two uniform columns
        x, y, height = rng.uniform(size=(3, 8 * n))
        wave = np.sin(2 * np.pi * periods * x) * np.sin(2 * np.pi * periods * y)
        kept = np.flatnonzero(2 * height < 1 + wave)[:n]
        return x[kept, None], y[kept, None]

    def correlated(rng, share):
        x = rng.standard_normal((n, 1))
        return x, share * x + rng.standard_normal((n, 1))

    problems = {f"{p} waves": lambda rng, p=p: waves(rng, p) for p in (1, 2, 3)}
    problems["correlation of 0.15"] = lambda rng: correlated(rng, 0.15)
    problems["no dependence"] = lambda rng: correlated(rng, 0.0)
    for name, draw in problems.items():
        show(f"HSIC, {name}", draws, draw, own, aggregated_hsic)


def fits(draws, n):
    own = {"ksd_test": lambda X, score, seed: mc.ksd_test(X, score, random_state=seed).pvalue}
    problems = {
        "shift of 0.15": lambda rng: rng.standard_normal((n, 2)) + 0.15,
        "scale of 1.15": lambda rng: 1.15 * rng.standard_normal((n, 2)),
        "Laplace": lambda rng: rng.laplace(scale=0.5**0.5, size=(n, 2)),
        "no difference": lambda rng: rng.standard_normal((n, 2)),
    }
    for name, draw in problems.items():
        show(f"KSD, {name}", draws, lambda rng, draw=draw: (draw(rng), np.negative), own, stein)


def hyppo(n, reps=200, repeat=2):
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
    seconds = {name: [] for name in calls}
    for _ in range(1 + repeat):
        for name, call in calls.items():
            start = time.process_time()
            call()
            seconds[name].append(time.process_time() - start)
    for name, found in seconds.items():
        # the first calls compile
        print(f"{name}, n = {n}, {reps} permutations: {np.median(found[1:]):.3f} s", flush=True)


def large(n):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((2, n, 3))
    Z[:, 0] *= 1.05
    processor, wall = time.process_time(), time.perf_counter()
    found = mc.mmd_test(X, Z)
    processor, wall = time.process_time() - processor, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{n} + {n} rows: p = {found.pvalue:.3f}, {processor:.1f} s of processor time, {wall:.1f} s, {peak:.2f} GB"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--hyppo", type=int, default=1000)
    parser.add_argument("--large", type=int, default=0)
    options = parser.parse_args()
    if options.large:
        large(options.large)
    if options.draws:
        for each in (samples, pairs, fits):
            each(options.draws, options.n)
    if options.hyppo:
        hyppo(options.hyppo)
