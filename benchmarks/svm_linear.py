"""Fits of SVC with a linear kernel beside LinearSVC: seconds of processor time, and objectives with a free intercept.

    python benchmarks/svm_linear.py [--sets letter,usps,normal:700,...] [--rows 20000] [--repeat 3]

Needs MERCER_DATA. Fits alternate; each time is a median. LinearSVC(loss="hinge", intercept_scaling=100) penalises a
hundredth of its intercept; both solutions are evaluated by the objective without that penalty. Labels are halves of the
sorted labels. ``normal:D`` are 2 000 normal rows of D columns, whose labels are those of a hyperplane with errors. A
ratio above 1 means that Mercer is faster; an excess is LinearSVC's objective over Mercer's, minus 1.
"""

import argparse
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from svm_grid import rows

import mercer as mc
from mercer import datasets

SETS = (
    "letter",
    "usps",
    "ijcnn1",
    "covtype",
    "mnist",
    "reuters",
    "normal:250",
    "normal:700",
    "normal:1500",
)


def problem(name, n):
    """Return at most n training rows and labels 1 and -1."""
    if name.startswith("normal:"):
        rng, d = np.random.default_rng(0), int(name.partition(":")[2])
        X = rng.normal(size=(min(n, 2000), d))
        return X, np.where(
            X @ rng.normal(size=d) + np.sqrt(d) / 2 * rng.normal(size=len(X)) > 0, 1.0, -1.0
        )
    if name == "reuters":
        data = datasets.load("reuters_moneyfx")
        parts = data.Xtr_data, data.Xtr_indices, data.Xtr_indptr
        X = sp.csr_matrix(parts, shape=(len(data.y_train), int(data["shape"][-1]))).astype(
            np.float64
        )
        return X[:n], np.where(data.y_train > 0, 1.0, -1.0)[:n]
    X, y, _ = rows(name, n)
    values = np.unique(y)
    return X, np.where(y >= values[len(values) // 2], 1.0, -1.0)


def objective(model, X, y):
    """Return |w|^2 / 2 + C times the sum of the hinge losses."""
    w = np.ravel(model.coef_)
    b = float(np.ravel(model.intercept_)[0])
    return 0.5 * w @ w + model.C * np.maximum(0, 1 - y * (X @ w + b)).sum()


def seconds(model, X, y):
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    ratios = []
    print(
        "set              n      d     C   Mercer  LinearSVC  ratio   objective    excess   violation  Newton steps"
    )
    for name in arguments.sets.split(","):
        X, y = problem(name, arguments.rows)
        for C in (0.1, 1.0, 10.0, 100.0):
            models = mc.SVC(C, kernel="linear"), LinearSVC(loss="hinge", intercept_scaling=100, C=C)
            times = np.median(
                [[seconds(model, X, y) for model in models] for _ in range(arguments.repeat)],
                axis=0,
            )
            own, other = (objective(model, X, y) for model in models)
            ratios.append(times[1] / times[0])
            found = models[0].certificate_.kkt, models[0].n_iter_[0]
            print(
                f"{name:11} {len(y):7} {X.shape[1]:6} {C:5g} {times[0]:8.3f} {times[1]:10.3f} {ratios[-1]:6.1f} "
                f"{own:11.6g} {other / own - 1:9.1e} {found[0]:11.1e} {found[1]:9d}",
                flush=True,
            )
    print(f"geometric mean {np.exp(np.log(ratios).mean()):.1f}, worst {min(ratios):.2f}")


if __name__ == "__main__":
    main()
