"""Learned kernels of ridge regression beside the plain sum and one tuned Gaussian, on eight sets of 500 rows.

Five draws of each set of MERCER_DATA: i = default_rng(seed).permutation(n), train i[:500], test i[500:2500], columns of
variance 1. Kernels are Gaussians of six widths, Laplacian, Matern 3/2 and linear. The ridge of every kernel is that of
the smallest leave-one-out error, and so is the width of the tuned Gaussian. Printed are the mean root mean square error
over the deviation of the test targets, and mean differences of the draws with their standard errors.

Run: OMP_NUM_THREADS=1 python benchmarks/learned_kernels.py [--sets kin8nm ...] [--seed 300]
"""

import argparse
import os
from pathlib import Path

import numpy as np

import mercer as mc
from mercer.linalg.cholesky import leave_one_out

SETS = (
    "abalone",
    "cadata",
    "cpusmall",
    "house8l",
    "kin8nm",
    "uci_concrete",
    "uci_kin40k",
    "uci_wine",
)
RIDGES = 4.0 ** np.arange(-9, 4)


def split(name, seed):
    found = np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz")
    X, y = found["X"].astype(float), found["y"].astype(float)
    if name == "abalone":
        X = np.hstack([np.eye(3)[X[:, 0].astype(int) - 1], X[:, 1:]])
    i = np.random.default_rng(seed).permutation(len(y))
    X, T, y, t = X[i[:500]], X[i[500:2500]], y[i[:500]], y[i[500:2500]]
    centre, scale = X.mean(axis=0), X.std(axis=0) + 1e-12
    return (
        (X - centre) / scale,
        (y - y.mean()) / y.std(),
        (T - centre) / scale,
        (t - y.mean()) / y.std(),
    )


def kernels(d):
    widths = [mc.Gaussian(4.0**j / d) for j in range(-3, 3)]
    return [*widths, mc.Laplacian(1 / d), mc.Matern(d**0.5, 1.5), mc.Linear()]


def tuned(kernel, X, y):
    """Return the leave-one-out error of the best ridge, and the ridge."""
    kernel = kernel.resolve(X)
    K, found = kernel(X), []
    for ridge in RIDGES * np.mean(np.diag(K)):
        try:
            found.append((np.mean(leave_one_out(K, ridge, y[:, None]).residuals ** 2), ridge))
        except np.linalg.LinAlgError:
            continue
    return min(found)


def error(kernel, X, y, T, t):
    model = mc.KernelRidge(float(tuned(kernel, X, y)[1]), kernel=kernel).fit(X, y)
    return np.sqrt(np.mean((model.predict(T) - t) ** 2)) / t.std()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seed", type=int, default=0, help="the first of five draws")
    options = parser.parse_args()
    if "MERCER_DATA" not in os.environ:
        print("set MERCER_DATA to a folder of .npz files")
        return
    names = ["plain sum", "Gaussian", "combine", "alignment", "learn_scales", "aligned scales"]
    print(
        f"{'set':14}" + "".join(f"{name:>15}" for name in names),
        " combine - sum, - Gaussian; learn_scales - Gaussian",
    )
    for name in options.sets:
        rows = []
        for seed in range(options.seed, options.seed + 5):
            X, y, T, t = split(name, seed)
            many = kernels(X.shape[1])
            values, first = y.reshape(-1, 1), mc.Gaussian("scale")
            found = [
                sum(many),
                min(many[:6], key=lambda kernel: tuned(kernel, X, y)[0]),
                mc.combine(many, X, values),
                mc.combine(many, X, values, "alignment"),
                mc.learn_scales(first, X, values),
                mc.learn_scales(first, X, values, method="alignment"),
            ]
            rows.append([error(kernel, X, y, T, t) for kernel in found])
        rows = np.array(rows)
        differences = rows[:, [2, 2, 4]] - rows[:, [0, 1, 1]]
        means, errors = differences.mean(axis=0), differences.std(axis=0, ddof=1) / 5**0.5
        told = "; ".join(
            f"{mean:+.4f} +- {own:.4f}" for mean, own in zip(means, errors, strict=True)
        )
        print(
            f"{name:14}" + "".join(f"{value:15.4f}" for value in rows.mean(axis=0)),
            "",
            told,
            flush=True,
        )


if __name__ == "__main__":
    main()
