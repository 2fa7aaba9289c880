"""Landmarks by each rule: the error of their span, and the time of randomly pivoted Cholesky in blocks.

Errors are trace errors, the share of sum_i k(x_i, x_i) outside of the span of the landmarks.

theory   Sets like those of Chen, Epperly, Tropp and Webber (2022), on which uniform or greedy landmarks fail: "smile",
         1 % of whose points lie far from two dense groups, and "spiral", most of whose points lie together. Columns:
         mean errors of k landmarks over the best error of rank r, and the bound 1 + epsilon of theorem 5.1 for
         k = r / epsilon + r log(1 / (epsilon eta)), with eta the best error.
sets     Means and standard errors over draws, four sets of real rows, Gaussian kernel with gamma "scale" (needs
         MERCER_DATA).
time     Randomly pivoted Cholesky by blocks with rejection, as in Mercer, beside algorithm 2.1 in NumPy, one column
         after the other. Both draw from one distribution. Rows with 20 columns, Gaussian kernel, gamma 1/20.

Run: python benchmarks/landmarks.py [--only theory sets time] [--rows 100000] [--rank 2000] [--draws 20]
"""

import argparse
import time

import numpy as np
from svm import covtype, standardised

import mercer as mc
from mercer import datasets
from mercer.linalg import cholesky

RULES = ("uniform", "k_means", "leverage", "greedy", "randomly_pivoted")
RANKS, EPSILONS = (5, 10, 20), (1.0, 0.5)
N_ROWS, NUMBERS = 5000, (50, 200, 800)


def smile(n=2000):
    """Return two dense eyes and a mouth of few points."""
    rng = np.random.default_rng(0)
    few = n // 100
    angle = rng.uniform(np.pi, 2 * np.pi, few)
    mouth = 10 * np.column_stack([np.cos(angle), np.sin(angle)])
    eyes = np.array([[-4.0, 4.0], [4.0, 4.0]])[rng.integers(2, size=n - few)]
    return np.vstack([eyes + 0.3 * rng.standard_normal((n - few, 2)), mouth]), mc.Gaussian(
        1 / (2 * 2.0**2)
    )


def spiral(n=2000):
    """Return points of an exponential spiral, evenly spaced in its angle."""
    t = np.linspace(0, 64, n)
    return np.exp(0.2 * t)[:, None] * np.column_stack([np.cos(t), np.sin(t)]), mc.Gaussian(
        1 / (2 * 1000.0**2)
    )


def letter():
    data = datasets.load("letter")
    return standardised(data.X_train, data.X_test)[0]


def ijcnn1():
    data = datasets.load("ijcnn1")
    return standardised(data.X_train, data.X_test)[0]


def usps():
    return datasets.load("usps").X_train


def forest():
    return covtype(N_ROWS, 1)[0]


def errors(kernel, X, k, rule, draws):
    """Return the trace errors of k landmarks by a rule, for several draws; one where nothing is drawn."""
    found, total = [], float(kernel.diag(X).sum())
    for seed in range(1 if rule == "greedy" else draws):
        Z = mc.maps.select_landmarks(kernel, X, k, rule, random_state=seed)
        values, vectors = np.linalg.eigh(kernel(Z))
        kept = values > 1e-12 * values[-1]
        inside = np.sum((kernel(X, Z) @ (vectors[:, kept] / np.sqrt(values[kept]))) ** 2)
        found.append(max(0.0, 1 - inside / total))
    return np.array(found)


def theory(options):
    rules = ("uniform", "greedy", "randomly_pivoted")
    print(
        f"{'':8}{'r':>4}{'best error':>12}{'k':>6}{rules[0]:>10}{rules[1]:>10}{rules[2]:>18}{'bound':>7}"
    )
    for make in (smile, spiral):
        X, kernel = make()
        values = np.linalg.eigvalsh(kernel(X))[::-1].clip(0)
        for r in RANKS:
            best = values[r:].sum() / values.sum()
            for epsilon in EPSILONS:
                k = int(np.ceil(r / epsilon + r * np.log(1 / (epsilon * best))))
                a, b, c = (
                    errors(kernel, X, k, rule, options.draws).mean() / best for rule in rules
                )
                print(
                    f"{make.__name__:8}{r:4}{best:12.1e}{k:6}{a:10.2g}{b:10.2g}{c:18.2g}{1 + epsilon:7}",
                    flush=True,
                )


def sets(options):
    print(f"{'':8}{'m':>5}" + "".join(f"{rule:>18}" for rule in RULES))
    for make in (letter, ijcnn1, usps, forest):
        X = np.asarray(make(), np.float64)
        X = X[np.random.default_rng(0).permutation(len(X))[:N_ROWS]]
        kernel = mc.Gaussian("scale").resolve(X)
        for m in NUMBERS:
            text = ""
            for rule in RULES:
                found = errors(kernel, X, m, rule, options.draws)
                text += f"{found.mean():11.4f} +-{found.std() / max(1, len(found) - 1) ** 0.5:5.4f}"
            print(f"{make.__name__:8}{m:5}{text}", flush=True)


def plain(kernel, X, rank, rng):
    """Return the factor (n, rank) of algorithm 2.1 of Chen, Epperly, Tropp and Webber."""
    F, rest = np.zeros((rank, len(X))), kernel.diag(X).astype(np.float64)
    for i in range(rank):
        pivot = rng.choice(len(X), p=rest / rest.sum())
        column = kernel(X, X[pivot : pivot + 1])[:, 0] - F[:i].T @ F[:i, pivot]
        F[i] = column / np.sqrt(column[pivot])
        rest = (rest - F[i] ** 2).clip(0)
    return F.T


def seconds(function, *arguments):
    start = time.perf_counter()
    factor = function(*arguments)
    return time.perf_counter() - start, 1 - np.einsum("ij,ij->", factor, factor) / len(factor)


def clock(options):
    X, kernel = np.random.default_rng(0).standard_normal((options.rows, 20)), mc.Gaussian(1 / 20)
    cholesky.randomly_pivoted(mc.Gram(kernel, X[:500]), 20, 0)
    blocks, error = seconds(
        lambda: cholesky.randomly_pivoted(mc.Gram(kernel, X), options.rank, 0).factor
    )
    columns, other = seconds(plain, kernel, X, options.rank, np.random.default_rng(0))
    print(
        f"{options.rows} rows, rank {options.rank}: blocks {blocks:.1f} s, columns {columns:.1f} s, ratio ",
        end="",
    )
    print(f"{columns / blocks:.1f}, trace errors {error:.4f} {other:.4f}")


PARTS = {"theory": theory, "sets": sets, "time": clock}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rank", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    for name in options.only:
        PARTS[name](options)


if __name__ == "__main__":
    main()
