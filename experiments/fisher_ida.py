"""Kernel classifiers on the benchmark sets of Raetsch's repository: Fisher, logistic, support vectors.

Mean and standard deviation of the test error in per cent over the training and test splits of each data set, for kernel
Fisher discriminants, logistic regression in feature space, and support vector machines. The kernel is Gaussian; its
width is the median rule times one of five factors, and mu or C is one of five values. 5-fold cross-validation selects
both on (at most 400 rows of) the first five training splits, and their medians are used for all splits. This is the
protocol of Mika, Raetsch, Weston, Schoelkopf, Mueller, *Fisher discriminant analysis with kernels* (1999), with 100
splits.

Needs the data sets ida_*.npz in the folder that MERCER_DATA names.

Run: python -m experiments.fisher_ida [--sets ida_banana ida_heart] [--splits 10]
"""

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import mercer as mc
from experiments._report import run_printed
from mercer import datasets
from mercer.estimators.kernel_fisher import KernelFisher
from mercer.estimators.kernelized import Kernelized

SETS = ["ida_banana", "ida_heart", "ida_image", "ida_ringnorm", "ida_waveform"]
FACTORS = [0.25, 1.0, 4.0, 16.0, 64.0]
# Number of splits for the search, and rows of each.
SEARCHED, ROWS = 5, 400


def median_gamma(X):
    """Return 1 / median |x - z|^2."""
    return mc.Gaussian("median").resolve(X).gamma


def fisher(gammas):
    grid = {"kernel__gamma": gammas, "mu": [1e-3, 1e-2, 1e-1, 1.0, 10.0]}
    return GridSearchCV(KernelFisher(kernel="rbf"), grid, cv=5)


def logistic(gammas):
    grid = {"kernel__gamma": gammas, "estimator__C": [0.1, 1.0, 10.0, 100.0, 1000.0]}
    return GridSearchCV(Kernelized(LogisticRegression(max_iter=1000), "rbf"), grid, cv=5)


def support_vectors(gammas):
    return GridSearchCV(SVC(), {"gamma": gammas, "C": [0.1, 1.0, 10.0, 100.0, 1000.0]}, cv=5)


SYSTEMS = {"KernelFisher": fisher, "Kernelized logistic": logistic, "SVC": support_vectors}


def tuned(data, system, splits):
    """Return the model with the medians of the parameters that cross-validation selected on the first splits."""
    found = []
    for rows in data.train_idx[: min(splits, SEARCHED)]:
        X, y = data.X[rows[:ROWS]], data.y[rows[:ROWS]]
        search = system([factor * median_gamma(X) for factor in FACTORS]).fit(X, y)
        found.append(search.best_params_)
    medians = {name: float(np.median([each[name] for each in found])) for name in found[0]}
    return search.estimator.set_params(**medians), medians


def errors(data, model, splits):
    """Return the test error on each split, in per cent."""
    pairs = zip(data.train_idx[:splits], data.test_idx[:splits], strict=True)
    return np.array(
        [100 * (1 - model.fit(data.X[a], data.y[a]).score(data.X[b], data.y[b])) for a, b in pairs]
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", type=int, default=10)
    arguments = parser.parse_args()
    print(f"{'set':14}" + "".join(f"{name:>21}" for name in SYSTEMS) + "   parameters")
    for name in arguments.sets:
        data, cells, notes = datasets.load(name), [], []
        for system in SYSTEMS.values():
            model, medians = tuned(data, system, arguments.splits)
            error = errors(data, model, arguments.splits)
            cells.append(f"{error.mean():11.2f} +- {error.std():3.1f}")
            notes.append(", ".join(f"{key} {value:.3g}" for key, value in medians.items()))
        print(
            f"{name:14}" + "".join(f"{cell:>21}" for cell in cells) + "   " + "; ".join(notes),
            flush=True,
        )


if __name__ == "__main__":
    run_printed(main)
