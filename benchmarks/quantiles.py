"""Quantiles and intervals: Mercer beside torchkm, quantile-forest and MAPIE, whose packages are those of bench-tables.

- Objectives of one quantile at the C that torchkm selects, whose Gaussian kernel is exp(-2 sigma |x - z|^2), and
  processor times of second calls, which compile nothing: of torchkm for two C with two folds and the final fit, of
  Mercer for a search of the same two C with two folds, and for one fit.
- Pinball losses of `SVRCV`, with the better of two kernels on its folds, and of a quantile forest on data sets of
  MERCER_DATA: 1 000 rows, up to 4 000 others are tested.
- Shares of up to 4 000 new targets at or below the quantiles of `QuantileSVR`, without and with a shift: means of draws
  of 1 000 rows, of `SVRCV` too with --search.
- Largest difference of jackknife+ intervals from those of MAPIE by refits, and processor times.

Run on one core: OMP_NUM_THREADS=1 python benchmarks/quantiles.py [--n 2000] [--sets abalone ...]
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_pinball_loss

import mercer as mc


def timed(call):
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def data(n, d=4):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + (0.3 + 0.3 * np.abs(X[:, 1])) * rng.standard_normal(n)


def objectives(n, tau=0.9, sigma=0.25):
    import torch
    from torchkm import TorchKMKQR

    torch.set_num_threads(1)
    X, y = data(n)
    kernel = mc.Gaussian(2 * sigma)
    calls = (
        lambda: TorchKMKQR(Cs=[0.1, 1.0], cv=2, tau=tau, rbf_sigma=sigma).fit(X, y),
        lambda: mc.SVRCV(kernel, Cs=[0.1, 1.0], cv=2, quantile=tau).fit(X, y),
        lambda: mc.QuantileSVR(tau, 1.0, kernel=kernel).fit(X, y),
    )
    for call in calls:
        call()
    peer, peer_seconds = timed(calls[0])
    _, search_seconds = timed(calls[1])
    C = float(peer.best_C_)
    own, seconds = timed(lambda: mc.QuantileSVR(tau, C, kernel=kernel).fit(X, y))
    a, K = np.asarray(peer.alpha_, float), kernel(X)
    error = y - K @ a - float(peer.intercept_)
    value = 0.5 * a @ K @ a + C * np.maximum(tau * error, (tau - 1) * error).sum()
    print(
        f"n = {n}, C = {C}: objective {own.certificate_.primal:.4f} (gap {own.certificate_.gap:.1g}) in {seconds:.3f} s"
    )
    print(
        f"    search {search_seconds:.3f} s; torchkm {value:.4f} in {peer_seconds:.3f} s",
        flush=True,
    )


LEVELS = (0.1, 0.5, 0.9)


def split(name, seed):
    """Return standardised rows and targets of a data set, and the rows to train on and to test."""
    found = np.load(Path(os.environ["MERCER_DATA"]) / f"{name}.npz")
    X, y = found["X"].astype(float), found["y"].astype(float)
    rows = np.random.default_rng(seed).permutation(len(y))
    n = min(1000, 3 * len(y) // 4)
    train, test = rows[:n], rows[n : n + 4000]
    return (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-12), y, train, test


def shares(names, draws, search):
    for name in names:
        found = []
        for seed in range(draws):
            X, y, train, test = split(name, seed)
            y = y / y[train].std()
            model = mc.QuantileSVR(LEVELS, calibration="shift").fit(X[train], y[train])
            values = model.predict(X[test])
            both = [values - model.shift_, values]
            if search:
                searches = [
                    mc.SVRCV(Cs=7, gammas=5, quantile=tau, calibration="shift").fit(
                        X[train], y[train]
                    )
                    for tau in LEVELS
                ]
                values = np.column_stack([each.predict(X[test]) for each in searches])
                shift = np.array([each.best_estimator_.shift_[0] for each in searches])
                both += [values - shift, values]
            found.append([(y[test, None] <= each).mean(axis=0) for each in both])
        print(name, *np.mean(found, axis=0).round(3).tolist(), flush=True)


def losses(names, levels=LEVELS):
    from quantile_forest import RandomForestQuantileRegressor

    for name in names:
        X, y, train, test = split(name, 0)
        scale = y[train].std()
        forest = RandomForestQuantileRegressor(random_state=0).fit(X[train], y[train])
        theirs = forest.predict(X[test], quantiles=list(levels))
        found = []
        for k, tau in enumerate(levels):
            searches = [
                mc.SVRCV(kernel, Cs=7, gammas=5, quantile=tau).fit(X[train], y[train] / scale)
                for kernel in ("rbf", "laplacian")
            ]
            search = max(searches, key=lambda each: each.best_score_)
            values = scale * search.predict(X[test]), theirs[:, k]
            found.append([mean_pinball_loss(y[test], each, alpha=tau) for each in values])
        own, peer = np.mean(found, axis=0)
        print(f"{name}: mean pinball loss {own:.4g}, quantile forest {peer:.4g}", flush=True)


def intervals(n):
    from mapie.regression import CrossConformalRegressor
    from sklearn.model_selection import LeaveOneOut

    X, y = data(n)
    new = data(50)[0]
    peer = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.5)
    fit = CrossConformalRegressor(peer, confidence_level=0.9, method="plus", cv=LeaveOneOut())
    (_, theirs), peer_seconds = timed(lambda: fit.fit_conformalize(X, y).predict_interval(new))
    model = mc.KernelRidge(0.5, kernel=mc.Gaussian(0.5))
    model.fit(X, y).predict_interval(new, 0.9, "jackknife+")
    own, seconds = timed(lambda: model.fit(X, y).predict_interval(new, 0.9, "jackknife+"))
    error = np.abs(own - theirs[:, :, 0]).max()
    print(
        f"n = {n}: jackknife+ differs by {error:.1g}; {seconds:.3f} s, MAPIE {peer_seconds:.1f} s"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--mapie", type=int, default=200)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--search", action="store_true")
    parser.add_argument(
        "--sets", nargs="*", default=["abalone", "cpusmall", "kin8nm", "uci_concrete"]
    )
    options = parser.parse_args()
    if options.n:
        objectives(options.n)
    if options.mapie:
        intervals(options.mapie)
    shares(options.sets, options.draws, options.search)
    losses(options.sets)
