"""The other support vector estimators: seconds to fit and the dual objective, for Mercer and its peers.

    python benchmarks/svm_estimators.py [--repeat K] [--sets cpusmall,cadata,...] [--peers sklearn,intelex] [--rows N]
                                        [--estimators SVR,NuSVR,OneClassSVM,NuSVC]

Needs MERCER_DATA. Gaussian kernel with gamma 1 / d on standardised features, tol = 1e-3 for all contenders. Fits
alternate in one run; medians are printed. Objectives are those of the dual to be maximised, in float64 from support
vectors and coefficients; coefficients of NuSVC are scaled to the sum that nu prescribes. scikit-learn-intelex has no
`OneClassSVM`. `SVDD` has no peer: with a Gaussian kernel it is equivalent to `OneClassSVM`.
"""

import argparse
import importlib
import time
from statistics import median

import numpy as np

import mercer as mc
from mercer import datasets

REGRESSION = ("cpusmall", "cadata")
CLASSIFICATION = ("ida_banana", "ida_image", "ida_ringnorm", "ida_waveform")
ESTIMATORS = ("SVR", "NuSVR", "OneClassSVM", "NuSVC")
# in units of standardised targets
SETTINGS = {
    "SVR": {"C": 10.0, "epsilon": 0.1},
    "NuSVR": {"C": 10.0, "nu": 0.5},
    "OneClassSVM": {"nu": 0.1},
    "NuSVC": {"nu": 0.5},
}
PEERS = {"sklearn": "sklearn.svm", "intelex": "sklearnex.svm"}


def problem(name, estimator, n_rows):
    """Return standardised points and targets; the classes of NuSVC are values above and below the median."""
    data = datasets.load(name)
    X, y = (np.asarray(data[key], np.float64)[:n_rows] for key in ("X", "y"))
    X = ((X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1)).astype(np.float32)
    if estimator == "NuSVC":
        return X, (y > np.median(y) if name in REGRESSION else y > 0).astype(int)
    return X, (y - y.mean()) / y.std()


def has(peer, estimator):
    """Return whether a peer has an estimator."""
    return hasattr(importlib.import_module(PEERS[peer]), estimator)


def make(contender, estimator, gamma):
    """Return an unfitted estimator."""
    if contender == "mercer":
        return getattr(mc, estimator)(kernel=mc.Gaussian(gamma), **SETTINGS[estimator])
    module = importlib.import_module(PEERS[contender])
    return getattr(module, estimator)(gamma=gamma, cache_size=1000, **SETTINGS[estimator])


def objective(model, estimator, X, y, gamma):
    """Return the dual objective of a fitted model."""
    coef = np.asarray(model.dual_coef_, np.float64).ravel()
    points = X[model.support_].astype(np.float64)
    if estimator == "NuSVC":
        # all contenders divide the coefficients by the margin
        coef = coef * SETTINGS[estimator]["nu"] * len(X) / np.abs(coef).sum()
    value = -0.5 * coef @ (mc.Gram(mc.Gaussian(gamma), points) @ coef)
    if estimator in ("SVR", "NuSVR"):
        value += y[model.support_] @ coef
    if estimator == "SVR":
        value -= SETTINGS[estimator]["epsilon"] * np.abs(coef).sum()
    return value


def compare(name, estimator, contenders, n_rows, repeat):
    """Print one line for each contender on one data set."""
    X, y = problem(name, estimator, n_rows)
    gamma = 1 / X.shape[1]
    times, models = {contender: [] for contender in contenders}, {}
    make("mercer", estimator, gamma).fit(X[:500], y[:500])
    for _ in range(repeat):
        for contender in contenders:
            model = make(contender, estimator, gamma)
            start = time.perf_counter()
            models[contender] = model.fit(X, y)
            times[contender].append(time.perf_counter() - start)
    for contender in contenders:
        value = objective(models[contender], estimator, X, y, gamma)
        row = f"{name:<14}{estimator:<13}{contender:<9}{median(times[contender]):>9.3f}"
        print(f"{row}{len(models[contender].support_):>9}{value:>18.9g}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, help="number of rows")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sets", default=",".join(REGRESSION + CLASSIFICATION))
    parser.add_argument("--estimators", default=",".join(ESTIMATORS))
    parser.add_argument("--peers", default="sklearn,intelex")
    options = parser.parse_args()
    print(
        f"{'set':<14}{'estimator':<13}{'contender':<9}{'fit, s':>9}{'vectors':>9}{'dual objective':>18}"
    )
    for name in options.sets.split(","):
        for estimator in options.estimators.split(","):
            peers = [
                peer for peer in filter(None, options.peers.split(",")) if has(peer, estimator)
            ]
            compare(name, estimator, ["mercer", *peers], options.rows, options.repeat)


if __name__ == "__main__":
    main()
