"""Learned metrics beside kernel ridge regression with a tuned bandwidth, on ten data sets, paired over five splits.

Each split draws 1 000 training rows and up to 2 000 test rows; columns are
scaled to variance 1, sequences are one column for each letter and place. Classes are regressed as codes, one column for
each class. Both methods choose from one grid of widths (the median distance times powers of 2) and regularisation
strengths by the error on a quarter of the training rows, and are then fitted to all of them. The metric step is
`learn_metric`; its number of iterations, 1 or 5, is chosen on the same quarter.

The table gives root mean squared errors, in units of the standard deviation of the targets, or shares of wrong
classes, in per cent; the mean difference over the splits with its standard error; and seconds of processor time.

Run: python experiments/learned_metric.py [--sets abalone letter] [--nu 0.5] [--rows 1000]     (needs MERCER_DATA)
"""

import argparse
import itertools
import time

import numpy as np
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer import datasets

REGRESSIONS = ["abalone", "cadata", "cpusmall", "uci_kin40k"]
CLASSES = ["letter", "usps", "ida_banana", "ida_image", "ida_waveform", "splice_uci"]
FACTORS = [0.5, 1.0, 2.0, 4.0]
ALPHAS = [1e-3, 1e-2, 1e-1, 1.0]
ITERATIONS = {"ridge": [0], "metric": [1, 5]}


def rows_of(name):
    """Return all rows and targets (n, m) of a data set."""
    data = datasets.load(name)
    X, y = (data.X, data.y) if "X" in data else (data.X_train, data.y_train)
    if name == "splice_uci":
        X = (X[:, :, None] == np.unique(X)).reshape(len(X), -1)
    if name in REGRESSIONS:
        return X.astype(float), y.astype(float)[:, None]
    return X.astype(float), (y[:, None] == np.unique(y)).astype(float)


def error(name, predicted, y):
    """Return the root mean squared error, or the share of wrong classes, in per cent."""
    if name in REGRESSIONS:
        return 100 * float(np.sqrt(np.mean((predicted - y) ** 2)))
    return 100 * float(np.mean(predicted.argmax(axis=1) != y.argmax(axis=1)))


def fitted(setting, nu, X, y):
    """Return the function that predicts, with its settings (factor, alpha, iterations)."""
    factor, alpha, n_iter = setting
    length = factor * mc.Matern("median").resolve(X).length
    kernel = mc.Matern(length, nu=nu) if np.isfinite(nu) else mc.Gaussian(1 / length**2)
    model, mean = mc.KernelRidge(alpha, kernel=kernel), y.mean(axis=0)
    model = mc.learn_metric(model, X, y - mean, n_iter) if n_iter else model.fit(X, y - mean)
    return lambda Z: model.predict(Z).reshape(len(Z), -1) + mean


def tuned(name, method, nu, X, y):
    """Return the settings with the smallest error on the last quarter of the rows."""
    cut = len(X) * 3 // 4
    settings = list(itertools.product(FACTORS, ALPHAS, ITERATIONS[method]))
    errors = [error(name, fitted(each, nu, X[:cut], y[:cut])(X[cut:]), y[cut:]) for each in settings]
    return settings[int(np.argmin(errors))]


def split_errors(name, nu, n, seed):
    """Return the test errors of both methods on one split, with settings and seconds: {method: (...)}."""
    X, y = rows_of(name)
    rows = np.random.default_rng(seed).permutation(len(X))
    train, test = rows[:n], rows[n : n + 2000]
    scaler = StandardScaler().fit(X[train])
    X = scaler.transform(X)
    if name in REGRESSIONS:
        y = (y - y[train].mean()) / y[train].std()
    found = {}
    for method in ITERATIONS:
        start = time.process_time()
        setting = tuned(name, method, nu, X[train], y[train])
        predict = fitted(setting, nu, X[train], y[train])
        found[method] = error(name, predict(X[test]), y[test]), setting, time.process_time() - start
    return found


def main():
    """Print one line for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=REGRESSIONS + CLASSES)
    parser.add_argument("--nu", type=float, default=np.inf, help="smoothness of the Matern kernel; inf is the Gaussian")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=5)
    options, lower = parser.parse_args(), 0
    print(f"{'set':14}{'ridge':>9}{'metric':>9}{'metric - ridge':>20}{'seconds':>16}   settings of the metric step")
    for name in options.sets:
        splits = [split_errors(name, options.nu, options.rows, seed) for seed in range(options.splits)]
        errors = np.array([[found[method][0] for method in ITERATIONS] for found in splits])
        seconds = np.mean([[found[method][2] for method in ITERATIONS] for found in splits], axis=0)
        change = errors[:, 1] - errors[:, 0]
        spread = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
        lower += change.mean() < 0
        print(
            f"{name:14}{errors[:, 0].mean():9.2f}{errors[:, 1].mean():9.2f}{change.mean():11.2f} +- {spread:4.2f}"
            f"{seconds[0]:8.1f}{seconds[1]:8.1f}   {[found['metric'][1] for found in splits]}",
            flush=True,
        )
    print(f"lower error with the metric step on {lower} of {len(options.sets)} sets")


if __name__ == "__main__":
    main()
