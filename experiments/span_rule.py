"""Selection of C and the width of a Gaussian kernel by the span rule, compared with cross-validation.

First table: test error in per cent (mean and standard deviation over the splits of each data set) and seconds of a
search, by 5-fold cross-validation and by the span rule, which fits every candidate once to all points. The grid has
7 widths (the median rule times powers of 2) and 3 values of C.
Second table: the span rule and the true leave-one-out error (by a fit without each support vector), at the parameters
that the span rule selected on the first split.

Needs the data sets ida_*.npz and ripley_synth.npz in the folder that MERCER_DATA names.

Run: python -m experiments.span_rule [--sets ida_banana ida_heart] [--splits 10]
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import GridSearchCV

import mercer as mc
from experiments._report import run_printed
from mercer import capacity, datasets

SETS = ["ida_banana", "ida_heart", "ida_image", "ida_ringnorm", "ida_waveform"]
FACTORS = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]
COSTS = [1.0, 10.0, 100.0]
RULES = {
    "5-fold": {"cv": 5},
    "span rule": {"cv": capacity.Resubstitution(), "scoring": capacity.span_score},
}


def search(rule, X, y):
    """Return the fitted search, and the seconds it took."""
    middle = mc.Gaussian("median").resolve(X).gamma
    grid = {"kernel__gamma": [factor * middle for factor in FACTORS], "C": COSTS}
    start = time.perf_counter()
    found = GridSearchCV(mc.SVC(kernel="rbf"), grid, **RULES[rule]).fit(X, y)
    return found, time.perf_counter() - start


def compared(data, splits):
    """Return test errors in per cent and seconds of every rule on every split: {rule: (errors, seconds)}."""
    results = {rule: ([], []) for rule in RULES}
    for train, test in zip(data.train_idx[:splits], data.test_idx[:splits], strict=True):
        for rule, (errors, seconds) in results.items():
            found, spent = search(rule, data.X[train], data.y[train])
            errors.append(100 * np.mean(found.predict(data.X[test]) != data.y[test]))
            seconds.append(spent)
    return {
        rule: (np.array(errors), np.array(seconds)) for rule, (errors, seconds) in results.items()
    }


def beside_truth(X, y):
    """Return the span rule's estimate and the true leave-one-out error, in per cent, with the seconds of each."""
    model = search("span rule", X, y)[0].best_estimator_
    start = time.perf_counter()
    estimate = 100 * capacity.span_rule(model, X, y).value
    middle = time.perf_counter()
    truth = 100 * capacity.leave_one_out(model, X, y)
    return estimate, truth, middle - start, time.perf_counter() - middle


def first_split(name):
    """Return the training points of the first or only split of a data set."""
    data = datasets.load(name)
    if "X_train" in data:
        return data.X_train, data.y_train
    rows = data.train_idx[0]
    return data.X[rows], data.y[rows]


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", type=int, default=10)
    arguments = parser.parse_args()
    print(
        f"{'set':14}"
        + "".join(f"{rule:>24}" for rule in RULES)
        + "   (test error %, seconds of a search)"
    )
    for name in arguments.sets:
        results = compared(datasets.load(name), arguments.splits)
        cells = [
            f"{errors.mean():10.2f} +- {errors.std():4.2f} {seconds.mean():6.2f}"
            for errors, seconds in results.values()
        ]
        print(f"{name:14}" + "".join(f"{cell:>24}" for cell in cells), flush=True)
    print(f"\n{'set':14}{'span rule':>12}{'leave one out':>16}   (error %)   seconds of each")
    for name in [*arguments.sets, "ripley_synth"]:
        estimate, truth, fast, slow = beside_truth(*first_split(name))
        print(f"{name:14}{estimate:12.2f}{truth:16.2f}{fast:22.3f}{slow:9.2f}", flush=True)


if __name__ == "__main__":
    run_printed(main)
