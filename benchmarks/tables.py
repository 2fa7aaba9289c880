"""Tables of a few thousand rows: Mercer's table models beside LightGBM, xRFM and HistGradientBoosting.

Two splits of each data set of MERCER_DATA: i = default_rng(1000 + seed).permutation(n), m = min(n_train, 3 n / 4),
train i[:m], test i[m : m + 4000]. Printed are the root mean square error over the deviation of the test targets, or the
error in per cent, its mean and that of each split, and the mean processor time. LightGBM is tuned by 25 random
configurations with early stopping on a fifth of the training rows; xRFM by random configurations, its defaults first,
within the processor time of Mercer. No number is chosen on test rows.

Run on one core: OMP_NUM_THREADS=1 python benchmarks/tables.py [--n_train 1000] [--sets cadata ...] [--peers ...]
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import mercer as mc

REGRESSION = ("kin8nm", "uci_concrete", "house8l", "uci_wine", "abalone", "cadata", "cpusmall")
CLASSIFICATION = ("nursery", "spambase", "segment", "creditg", "covtype")


def load(name):
    """Return rows and targets; categories of abalone and covtype are indicators."""
    found = np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz")
    if name == "covtype":
        rows = np.random.default_rng(5).permutation(len(found["y"]))[:12_000]
        X = [
            found["X10"][rows],
            np.eye(4)[found["wilderness"][rows]],
            np.eye(40)[found["soil"][rows]],
        ]
        return np.hstack(X).astype(float), found["y"][rows]
    X, y = found["X"].astype(float), found["y"]
    if name == "abalone":
        X = np.hstack([np.eye(3)[X[:, 0].astype(int) - 1], X[:, 1:]])
    return X, y.astype(float) if name in REGRESSION else y


class Task(NamedTuple):
    """Training rows and targets, test rows, and the processor time that a tuned peer may take."""

    X: Any
    y: Any
    T: Any
    is_regression: bool
    seed: int
    seconds: float


def split(X, y, seed, n_train):
    rows = np.random.default_rng(1000 + seed).permutation(len(y))
    m = min(n_train, int(0.75 * len(y)))
    return X[rows[:m]], y[rows[:m]], X[rows[m : m + 4000]], y[rows[m : m + 4000]]


def error(y, found, is_regression):
    return (
        np.sqrt(np.mean((y - found) ** 2)) / y.std() if is_regression else 100 * np.mean(y != found)
    )


def held_out(X, y, seed):
    rows = np.random.default_rng(seed).permutation(len(y))
    m = len(y) // 5
    return X[rows[m:]], y[rows[m:]], X[rows[:m]], y[rows[:m]]


def mercer(task):
    model = mc.TableRegressor() if task.is_regression else mc.TableClassifier()
    return model.fit(task.X, task.y).predict(task.T)


def boosting(task):
    model = HistGradientBoostingRegressor if task.is_regression else HistGradientBoostingClassifier
    return model(random_state=0).fit(task.X, task.y).predict(task.T)


def lightgbm(task):
    import lightgbm as lgb

    X, y, T, is_regression, seed, _ = task
    rng = np.random.default_rng(seed)
    A, a, B, b = held_out(X, y, seed)
    best = np.inf, None
    for _ in range(25):
        options = {
            "num_leaves": int(rng.integers(7, 128)),
            "learning_rate": float(10 ** rng.uniform(-2, np.log10(0.3))),
            "min_child_samples": int(rng.integers(3, 61)),
            "subsample": float(rng.uniform(0.5, 1)),
            "subsample_freq": 1,
            "colsample_bytree": float(rng.uniform(0.5, 1)),
            "reg_alpha": float(10 ** rng.uniform(-3, 1)),
            "reg_lambda": float(10 ** rng.uniform(-3, 1)),
        }
        kind = lgb.LGBMRegressor if is_regression else lgb.LGBMClassifier
        model = kind(n_estimators=2000, n_jobs=1, verbose=-1, **options)
        model.fit(A, a, eval_set=[(B, b)], callbacks=[lgb.early_stopping(50, verbose=False)])
        loss = error(b, model.predict(B), is_regression)
        if loss < best[0]:
            options["n_estimators"] = max(1, int(1.1 * model.best_iteration_))
            best = loss, kind(n_jobs=1, verbose=-1, **options)
    return best[1].fit(X, y).predict(T)


def xrfm(task):
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    X, y, T, is_regression, seed, seconds = task
    rng = np.random.default_rng(seed)
    labels, y = (None, y) if is_regression else np.unique(y, return_inverse=True)
    unit = (y.mean(), y.std()) if is_regression else (0, 1)
    centre, scale = X.mean(axis=0), X.std(axis=0) + 1e-12
    X, T = (X - centre) / scale, (T - centre) / scale
    y = (y - unit[0]) / unit[1] if is_regression else y
    A, a, B, b = held_out(X, y, seed)
    best, start = (np.inf, None), time.process_time()
    metric = "mse" if is_regression else "accuracy"
    # its defaults come first
    model = {"kernel": "l2", "bandwidth": 10.0, "exponent": 1.0, "diag": False}
    reg = 1e-3
    while best[1] is None or time.process_time() - start < seconds:
        params = {
            "model": {**model, "bandwidth_mode": "constant"},
            "fit": {"reg": reg, "iters": 5, "verbose": False},
        }
        fitted = xRFM(rfm_params=params, device="cpu", tuning_metric=metric, verbose=False)
        fitted.fit(A, a, B, b)
        loss = error(b, np.asarray(fitted.predict(B)).reshape(b.shape), is_regression)
        if loss < best[0]:
            best = loss, fitted
        model = {
            "kernel": rng.choice(["l2", "l1"]),
            "bandwidth": float(np.exp(rng.uniform(np.log(1), np.log(200)))),
            "exponent": float(rng.uniform(0.7, 1.4)),
            "diag": bool(rng.integers(2)),
        }
        reg = float(10 ** rng.uniform(-6, 1))
    found = np.asarray(best[1].predict(T)).reshape(len(T))
    return found * unit[1] + unit[0] if is_regression else labels[found.astype(int)]


PEERS = {each.__name__: each for each in (mercer, boosting, lightgbm, xrfm)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n_train", type=int, default=1000)
    parser.add_argument("--sets", nargs="*", default=[*REGRESSION, *CLASSIFICATION])
    parser.add_argument("--peers", nargs="*", default=["mercer", "boosting"], choices=PEERS)
    options = parser.parse_args()
    if "MERCER_DATA" not in os.environ:
        print("set MERCER_DATA to a folder of .npz files")
        return
    print(f"{'set':14}" + "".join(f"{name:>30}" for name in options.peers))
    for name in options.sets:
        X, y = load(name)
        is_regression = name in REGRESSION
        # machine code is compiled before times count
        mercer(Task(*split(X, y, 0, 100)[:3], is_regression, 0, 0.0))
        cells = []
        mercer_seconds = 5.0
        for peer in options.peers:
            errors = []
            seconds = []
            for seed in (0, 1):
                A, a, T, t = split(X, y, seed, options.n_train)
                start = time.process_time()
                found = PEERS[peer](Task(A, a, T, is_regression, seed, mercer_seconds))
                seconds.append(time.process_time() - start)
                errors.append(error(t, found, is_regression))
            mercer_seconds = np.mean(seconds) if peer == "mercer" else mercer_seconds
            both = " ".join(f"{each:.3f}" for each in errors)
            cells.append(f"{f'{np.mean(errors):.3f} ({both})':>22}{np.mean(seconds):6.1f} s")
        print(f"{name:14}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
