"""Small problems, 50 to 2 000 rows: fits and predictions of every estimator with a peer, as ratios to the fastest peer.

    python benchmarks/small.py [--rows 50,150,600,2000] [--repeat 20] [--seconds 20] [--estimators SVC-rbf,NuSVR,...]
        [--sets iris,...] [--peers sklearn,intelex] [--json results.json]

Six sets of classes and six of targets; those of scikit-learn are always there, the others need MERCER_DATA and are left
out without it. Columns are standardised, gamma is that of "scale" for all contenders, C = 1 and other parameters are
those of scikit-learn, but nu = 0.2 for `NuSVC`, nu = 0.1 for `OneClassSVM`, and `KernelPCA` has 10 components. A set
counts at a size if it has four fifths of the rows, so that iris stands at 50 and 150 rows.

Contenders alternate, each in turn first; figures are medians of ``--repeat`` turns, fewer (at least 3) where these take
longer than ``--seconds``. A ratio above 1 means that Mercer is faster than the fastest peer. The peer of `KernelFisher`
is linear discriminant analysis of all kernel principal components. The last column is the time inside the entrance of
the solver, certificate included, of fits beside those that are timed.
"""

import argparse
import importlib
import json
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from svm_grid import scale, seconds

import mercer as mc
from mercer import datasets

# The functions that estimators call to solve; the time inside one of them counts once where it calls another.
ENTRANCES = ("mercer.solvers.svm.solve.solve_dual",)
ROWS = "50,150,600,2000"
OWN = {
    "iris": load_iris,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
    "diabetes": load_diabetes,
}
CLASSES = "iris", "breast_cancer", "digits", "ida_banana", "segment", "spambase"
TARGETS = "diabetes", "uci_concrete", "kin8nm", "cpusmall", "abalone", "cadata"
PEERS = {"sklearn": "sklearn.svm", "intelex": "sklearnex.svm"}
# Support vector machines: the class, its kernel by scikit-learn's name, and its parameters.
MACHINES = {
    "SVC-rbf": ("SVC", "rbf", {}),
    "SVC-poly": ("SVC", "poly", {}),
    "SVC-linear": ("SVC", "linear", {}),
    "NuSVC": ("NuSVC", "rbf", {"nu": 0.2}),
    "SVR": ("SVR", "rbf", {}),
    "NuSVR": ("NuSVR", "rbf", {}),
    "OneClassSVM": ("OneClassSVM", "rbf", {"nu": 0.1}),
}
OTHERS = "KernelRidge", "KernelPCA", "KernelFisher", "Nystroem"
REGRESSIONS = {"SVR", "NuSVR", "KernelRidge"}
WHAT = "fit", "output", "one row"


def problem(name, n):
    """Return n standardised rows and their classes or standardised targets; fewer rows where the set has fewer."""
    data = OWN[name](as_frame=False) if name in OWN else datasets.load(name)
    X, y = (data["data"], data["target"]) if name in OWN else (data["X"], data["y"])
    order = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = np.asarray(X, np.float64)[order], y[order]
    X = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1)
    return X, (y - y.mean()) / y.std() if name in TARGETS else y.astype(int)


def pairs(gamma, n):
    """Return Mercer's estimator and that of scikit-learn for each of the others."""
    kernel, m = mc.Gaussian(gamma), min(100, n // 2)
    components = KernelPCA(kernel="rbf", gamma=gamma)
    return {
        "KernelRidge": (mc.KernelRidge(kernel=kernel), KernelRidge(kernel="rbf", gamma=gamma)),
        "KernelPCA": (mc.KernelPCA(10, kernel=kernel), KernelPCA(10, kernel="rbf", gamma=gamma)),
        "KernelFisher": (
            mc.KernelFisher(kernel=kernel),
            make_pipeline(components, LinearDiscriminantAnalysis()),
        ),
        "Nystroem": (
            mc.Nystroem(kernel, n_components=m, random_state=0),
            Nystroem(gamma=gamma, n_components=m, random_state=0),
        ),
    }


def contenders(estimator, gamma, n, peers):
    """Return the unfitted models by contender."""
    if estimator in OTHERS:
        own, peer = pairs(gamma, n)[estimator]
        return {"mercer": own} | ({"sklearn": peer} if "sklearn" in peers else {})
    name, kernel, parameters = MACHINES[estimator]
    kernels = {
        "rbf": mc.Gaussian(gamma),
        "poly": mc.Polynomial(3, gamma, 0.0),
        "linear": mc.Linear(),
    }
    found = {"mercer": getattr(mc, name)(kernel=kernels[kernel], **parameters)}
    for peer, module in peers.items():
        if hasattr(module, name):
            found[peer] = getattr(module, name)(kernel=kernel, gamma=gamma, **parameters)
    return found


def available(names):
    """Return the modules of the peers that can be imported."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(PEERS[name])
        except ImportError as error:
            print(f"{name} is skipped: {error!r}", flush=True)
    return found


def measure(models, X, y, repeat, limit):
    """Return the median seconds of the fit, the output of all rows and that of one row, by contender."""
    times, names = {name: [] for name in models}, list(models)

    def take_turn(k):
        for name in names[k % len(names) :] + names[: k % len(names)]:
            model = models[name]
            fit = seconds(time.perf_counter, model.fit, X, y)
            output = model.predict if hasattr(model, "predict") else model.transform
            times[name].append(
                (fit, *(seconds(time.perf_counter, output, rows) for rows in (X, X[:1])))
            )

    # the first turn compiles code
    take_turn(0)
    spent = seconds(time.perf_counter, take_turn, 1)
    for k in range(2, 1 + int(np.clip(limit / spent, min(3, repeat), repeat))):
        take_turn(k)
    return {name: np.median(rows[1:], axis=0) for name, rows in times.items()}


class Entrance:
    """A context in which the seconds inside the entrances of the solver add up."""

    def __init__(self, entrances=ENTRANCES):
        self.seconds = 0.0
        self._inside = False
        self._replaced = []
        for path in entrances:
            module, _, name = path.rpartition(".")
            function = getattr(importlib.import_module(module), name)
            # estimators import the function by name
            for user in [module for key, module in sys.modules.items() if key.startswith("mercer")]:
                found = [key for key, value in vars(user).items() if value is function]
                self._replaced += [(user, key, function) for key in found]

    def _timed(self, function):
        def call(*arguments, **options):
            if self._inside:
                return function(*arguments, **options)
            self._inside = True
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - start
                self._inside = False

        return call

    def __enter__(self):
        for user, key, function in self._replaced:
            setattr(user, key, self._timed(function))
        return self

    def __exit__(self, *_):
        for user, key, function in self._replaced:
            setattr(user, key, function)


def inside(model, X, y, repeat):
    """Return the median seconds of a fit inside the entrances of the solver."""
    found = []
    for _ in range(repeat):
        with Entrance() as entrance:
            model.fit(X, y)
        found.append(entrance.seconds)
    return float(np.median(found))


def cells(options, peers):
    """Yield (estimator, rows, set, ratios, seconds by contender, seconds inside) and print a line for each."""
    for n in map(int, options.rows.split(",")):
        for estimator in options.estimators.split(","):
            for name in TARGETS if estimator in REGRESSIONS else CLASSES:
                if name not in options.sets.split(","):
                    continue
                try:
                    X, y = problem(name, n)
                except FileNotFoundError:
                    continue
                if len(X) < 0.8 * n:
                    continue
                models = contenders(estimator, scale(X), len(X), peers)
                times = measure(models, X, y, options.repeat, options.seconds)
                others = [found for peer, found in times.items() if peer != "mercer"]
                ratios = (
                    np.min(others, axis=0) / times["mercer"]
                    if others
                    else np.full(len(WHAT), np.nan)
                )
                solver = (
                    inside(models["mercer"], X, y, options.repeat) if estimator in MACHINES else 0.0
                )
                shown = "  ".join(
                    f"{who} {' / '.join(f'{1e3 * t:.2f}' for t in own)}"
                    for who, own in times.items()
                )
                figures = " ".join(f"{ratio:5.2f}" for ratio in ratios)
                print(
                    f"{estimator:13}{n:5}  {name:14}{figures}   {shown}   {1e3 * solver:.3f}",
                    flush=True,
                )
                yield estimator, n, name, ratios, times, solver


def summary(found):
    """Print geometric mean and worst of the ratios for each size, of support vector machines and of each estimator."""
    groups = defaultdict(list)
    for estimator, n, name, ratios, _, solver in found:
        groups["vector machines" if estimator in MACHINES else "others", n].append(
            (estimator, name, ratios, solver)
        )
        groups[estimator, n].append((estimator, name, ratios, solver))
    print(
        f"\n{'':17}{'rows':>5}{'cells':>6}"
        + "".join(f"{what + ': mean, worst':>36}" for what in WHAT)
        + "  inside, ms"
    )
    for (group, n), own in sorted(
        groups.items(), key=lambda item: (item[0][1], item[0][0] in (*MACHINES, *OTHERS))
    ):
        line = f"{group:17}{n:5}{len(own):6}"
        for k in range(len(WHAT)):
            values = np.array([ratios[k] for _, _, ratios, _ in own])
            worst = int(np.argmin(values))
            where = (
                f"{own[worst][0]} {own[worst][1]}"
                if group in ("vector machines", "others")
                else own[worst][1]
            )
            line += f"{np.exp(np.log(values).mean()):8.2f}{values[worst]:6.2f} {where[:21]:21}"
        print(line + f"{1e3 * np.median([solver for *_, solver in own]):12.3f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default=ROWS)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument(
        "--seconds", type=float, default=20, help="most seconds of the turns of a cell"
    )
    parser.add_argument("--estimators", default=",".join([*MACHINES, *OTHERS]))
    parser.add_argument("--sets", default=",".join(CLASSES + TARGETS))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--json", type=Path, help="a file for all figures")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    peers = available(filter(None, options.peers.split(",")))
    print(
        "estimator     rows  set           ratios of fit, output and output of one row   ms of each   ms in the solver"
    )
    found = list(cells(options, peers))
    summary(found)
    if options.json:
        rows = [
            {"estimator": estimator, "rows": n, "set": name, "ratios": list(ratios), "inside": solver,
             "seconds": {who: list(own) for who, own in times.items()}}
            for estimator, n, name, ratios, times, solver in found
        ]  # fmt: skip
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
