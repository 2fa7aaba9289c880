"""Fits and predictions of SVC over a grid of sets, C and gamma, as ratios to the fastest peer.

    python benchmarks/svm_grid.py [--rows 4000] [--repeat 3] [--sets letter,usps,...] [--peers sklearn,intelex]

Needs MERCER_DATA. Fits of all contenders alternate; each figure is a median. gamma is 1/4, 1 and 4 times "scale". A
ratio above 1 means that Mercer is faster than the fastest peer. Every cell is printed, the summary last.
"""

import argparse
import time

import numpy as np
from svm import standardised

import mercer as mc
from mercer import datasets

SETS = "letter", "usps", "ijcnn1", "covtype", "mnist", "ida_banana", "ida_image", "splice_uci"


def rows(name, n, labels=False):
    """Return n training rows and their labels, and as many other rows, with theirs if ``labels``."""
    data = datasets.load(name)
    if name == "covtype":
        X = np.hstack([data.X10 / data.X10.std(0), np.eye(4)[data.wilderness], np.eye(40)[data.soil]])
        y = data.y == 2
    elif hasattr(data, "X_train"):
        X, y = np.concatenate([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    else:
        X, y = data.X, data.y
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n], order[n : 2 * n] if len(order) >= 2 * n else order[:n]
    own, new = (np.asarray(X[part], np.float64) for part in (train, test))
    own, new = (own / 255, new / 255) if name == "mnist" else (own, new) if name == "usps" else standardised(own, new)
    own, new = own.astype(np.float64), new.astype(np.float64)
    return (own, y[train].astype(int), new, y[test].astype(int)) if labels else (own, y[train].astype(int), new)


def peers(names):
    """Return the constructors of the peers by name."""
    from sklearn.svm import SVC

    found = {"sklearn": SVC}
    if "intelex" in names:
        from sklearnex.svm import SVC as Intelex

        found["intelex"] = Intelex
    return {name: found[name] for name in names}


def seconds(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def cell(X, y, new, C, gamma, others, repeat):
    """Return the median seconds of fits and predictions by contender, and Mercer's violation."""
    models = {"mercer": mc.SVC(C, kernel=mc.Gaussian(gamma))}
    models |= {name: make(C=C, gamma=gamma, cache_size=1000) for name, make in others.items()}
    times = {name: [] for name in models}
    for _ in range(repeat):
        for name, model in models.items():
            times[name].append((seconds(model.fit, X, y), seconds(model.predict, new)))
    return {name: np.median(pairs, axis=0) for name, pairs in times.items()}, models["mercer"].certificate_.kkt


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--peers", default="sklearn,intelex")
    arguments = parser.parse_args()
    others, ratios = peers(arguments.peers.split(",")), []
    print("set          C  gamma/scale  fit / predict in ms of each contender; ratios to the fastest peer; violation")
    for name in arguments.sets.split(","):
        X, y, new = rows(name, arguments.rows)
        scale = 1 / (X.shape[1] * X.var())
        # machine code and caches before the clock
        mc.SVC(kernel=mc.Gaussian(scale)).fit(X, y).predict(new)
        for C in (1.0, 10.0, 100.0):
            for factor in (0.25, 1.0, 4.0):
                times, violation = cell(X, y, new, C, factor * scale, others, arguments.repeat)
                ratio = np.min([times[peer] for peer in others], axis=0) / times["mercer"]
                ratios.append(ratio)
                figures = "  ".join(f"{who} {fit * 1e3:.1f} / {use * 1e3:.1f}" for who, (fit, use) in times.items())
                print(
                    f"{name:11} {C:4.0f} {factor:5}  {figures}   {ratio[0]:.2f} {ratio[1]:.2f}  {violation:.1e}",
                    flush=True,
                )
    for what, values in zip(("fit", "predict"), np.transpose(ratios), strict=True):
        mean, wins = np.exp(np.log(values).mean()), np.mean(values >= 1)
        print(f"{what}: geometric mean {mean:.2f}, worst {values.min():.2f}, at least 1 in {wins:.0%} of {len(values)}")


if __name__ == "__main__":
    main()
