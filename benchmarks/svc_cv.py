"""Selection of C: SVCCV and GridSearchCV over scikit-learn's SVC, on the same folds.

    python benchmarks/svc_cv.py --n 10000 --d 10 --cs 50 --folds 10 --share 0.06

The peer is timed on a share of the grid: evenly spaced values of C, at least three, all folds, two processes. The time
for the other values is interpolated in log C. Times are those of `fit` without the refit, after one small fit of each
system for imports and compilation.
"""

import argparse
import json
import os
import platform
import time

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

import mercer as mc
from mercer.estimators.svc_cv import SVCCV


def data(n, d, seed):
    """Return two overlapping mixtures of Gaussians, as in the comparison of TorchKM; the best error is about 10 %."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    centres = rng.normal(size=(2, 10, d)) / np.sqrt(d) * 2
    return centres[y, rng.integers(0, 10, n)] + rng.normal(size=(n, d)), y


def timed(model, X, y):
    """Return the seconds of a fit, and the fitted model."""
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start, model


def main():
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--d", type=int, default=10)
    parser.add_argument("--cs", type=int, default=50)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--low", type=float, default=-3, help="log10 of the smallest C")
    parser.add_argument("--high", type=float, default=3, help="log10 of the largest C")
    parser.add_argument("--share", type=float, default=0.06, help="share of the grid that the peer is timed on")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    X, y = data(options.n, options.d, options.seed)
    gamma = 1 / (options.d * X.var())
    Cs = np.logspace(options.low, options.high, options.cs)
    cv = StratifiedKFold(options.folds, shuffle=True, random_state=options.seed)
    few = slice(0, 200)
    for small in (
        SVCCV(mc.Gaussian(gamma), Cs=[1.0], cv=2, refit=False),
        GridSearchCV(SVC(gamma=gamma), {"C": [1.0]}, cv=2, n_jobs=2, refit=False),
    ):
        small.fit(X[few], y[few])

    seconds, ours = timed(SVCCV(mc.Gaussian(gamma), Cs=Cs, cv=cv, refit=False), X, y)
    asked = np.unique(np.linspace(0, len(Cs) - 1, max(3, round(options.share * len(Cs)))).astype(int))
    each, difference = [], 0.0
    for k in asked:
        peer = GridSearchCV(SVC(gamma=gamma, cache_size=1000), {"C": [Cs[k]]}, cv=cv, n_jobs=2, refit=False)
        spent, peer = timed(peer, X, y)
        each.append(spent)
        own = ours.cv_results_["mean_test_score"][k]
        difference = max(difference, abs(peer.cv_results_["mean_test_score"][0] - own))
    whole = float(np.interp(np.arange(len(Cs)), asked, each).sum())
    print(
        json.dumps(
            {
                "n": options.n, "d": options.d, "Cs": options.cs, "folds": options.folds,
                "mercer_seconds": round(seconds, 2), "mercer_steps": int(ours.cv_results_["n_iter"].sum()),
                "peer_seconds_by_C": {f"{Cs[k]:.3g}": round(t, 2) for k, t in zip(asked, each, strict=True)},
                "peer_seconds_extrapolated": round(whole, 1), "times_faster": round(whole / seconds, 1),
                "largest_difference_of_scores": difference, "best_C": ours.best_params_["C"],
                "best_score": ours.best_score_, "cores": os.cpu_count(), "load": os.getloadavg()[0],
                "python": platform.python_version(), "scikit-learn": sklearn.__version__, "numpy": np.__version__,
            }
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
