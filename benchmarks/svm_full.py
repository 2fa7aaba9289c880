"""covtype in full, class 2 against the rest: an exact fit to all rows, a search over cells, and peers in equal time.

    python benchmarks/svm_full.py [fit:160000 fit:320000 fit:500000 cells:500000 finish:500000 libsvm:500000
        liquidsvm:20000] [--results svm_full.jsonl] [--memory 2.5GB] [--cell 1000] [--certify]

Needs MERCER_DATA. The last 81 012 of the permuted rows are the test rows; the first of the others are trained on. Each
part runs in a process of its own and prints a line; parts that the file of results holds are not run again.

* ``fit``: C = 10, gamma = 0.1; with ``--certify`` gap and violation are computed again in float64 from the training
  rows, which takes about as long as the fit.
* ``cells``: 10 values of C, 10 of gamma and 5 folds on cells, and the test error of the cells.
* ``finish``: the fit to all rows with the C and gamma that ``cells`` of the same size chose.
* ``libsvm``: scikit-learn on as many rows as take it the time of the fit of as many rows as named.
* ``liquidsvm``: its search over cells of its own on one thread; optional, see svc_cv.py.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from svm import covtype

import mercer as mc

TEST, C, GAMMA = 81_012, 10.0, 0.1
PARTS = (
    "fit:160000",
    "fit:320000",
    "fit:500000",
    "cells:500000",
    "finish:500000",
    "libsvm:500000",
    "liquidsvm:20000",
)
# Values of C, and of gamma in units of the rule "scale".
CS, FACTORS = np.logspace(-2, 3, 10), 4.0 ** np.linspace(-2, 2, 10)
# Rows of the first fit of a peer whose time grows with the square of the rows.
FIRST = 5000


def rows(n):
    """Return n training rows and their labels, and the test rows and their labels."""
    X, y, *_ = covtype(581_012, 0)
    return X[:n], y[:n], X[-TEST:], y[-TEST:]


class Clock:
    """Seconds of the clock and of the processor since the start."""

    def __init__(self):
        self.start = time.perf_counter(), time.process_time()

    def read(self, name="seconds"):
        wall, cpu = time.perf_counter() - self.start[0], time.process_time() - self.start[1]
        return {name: round(wall, 2), f"{name}_cpu": round(cpu, 2)}


def warm_up(X, y):
    """Compile before time is measured."""
    mc.SVC(C, kernel=mc.Gaussian(GAMMA)).fit(X[:9000], y[:9000]).predict(X[:100])
    mc.SVCCV(Cs=[1.0, 10.0], gammas=2, cells=500, refit=False).fit(X[:1000], y[:1000])


def fit(n, options):
    X, y, new, new_y = rows(n)
    warm_up(X, y)
    return fitted(mc.Gaussian(GAMMA), C, X, y, new, new_y, options)


def fitted(kernel, C, X, y, new, new_y, options):
    """Return figures of a fit to all rows and of its test error."""
    clock = Clock()
    model = mc.SVC(C, kernel=kernel, memory=options.memory).fit(X, y)
    found, certificate = clock.read(), model.certificate_
    found |= {
        "vectors": len(model.support_),
        "steps": int(model.n_iter_.sum()),
        "violation": certificate.kkt,
    }
    found |= {"objective": certificate.dual, "gap": certificate.gap}
    found |= {"peak_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}
    if options.certify:
        clock = Clock()
        again = mc.certify(model, X, y)
        found |= {
            "violation_again": again.kkt,
            "gap_again": again.gap,
            "objective_again": again.dual,
        }
        found |= clock.read("certify")
    return found | {"test_error": float(np.mean(model.predict(new) != new_y))}


def cells(n, options):
    X, y, new, new_y = rows(n)
    warm_up(X, y)
    clock, gammas = Clock(), FACTORS / (X.shape[1] * X.var())
    search = mc.SVCCV(
        Cs=CS, gammas=gammas, cells=options.cell, refit=False, memory=options.memory
    ).fit(X, y)
    found = (
        clock.read()
        | {"C": search.C_, "gamma": search.kernel_.gamma}
        | {"held_out_error": 1 - search.best_score_}
    )
    found |= {"peak_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}
    # all test rows are held out, and each takes the classifier of its cell
    fold = [(np.arange(n), np.arange(n, n + len(new)))]
    local = mc.SVCCV(
        search.kernel_,
        Cs=[search.C_],
        cells=options.cell,
        cv=fold,
        refit=False,
        memory=options.memory,
    )
    both = np.concatenate([X, new]), np.concatenate([y, new_y])
    return found | {"cells_test_error": 1 - local.fit(*both).best_score_}


def finish(n, options):
    chosen = next((each for each in known(options.results) if each["part"] == f"cells:{n}"), None)
    if chosen is None:
        return {"skipped": f"the results have no cells:{n}"}
    X, y, new, new_y = rows(n)
    warm_up(X, y)
    return fitted(mc.Gaussian(chosen["gamma"]), chosen["C"], X, y, new, new_y, options)


def libsvm(n, options):
    from sklearn.svm import SVC

    limit = next(
        (each["seconds"] for each in known(options.results) if each["part"] == f"fit:{n}"), None
    )
    if limit is None:
        return {"skipped": f"the results have no fit:{n}"}
    X, y, new, new_y = rows(n)
    size = min(FIRST, n)
    while True:
        clock = Clock()
        model = SVC(C=C, gamma=GAMMA, cache_size=1000).fit(X[:size], y[:size])
        found = clock.read() | {"rows": size, "vectors": len(model.support_)}
        # the last fit takes about the time that is allowed
        larger = min(n, int(size * min(4.0, (limit / found["seconds"]) ** 0.5)))
        if larger < 1.1 * size:
            return found | {
                "allowed": limit,
                "test_error": float(np.mean(model.predict(new) != new_y)),
            }
        size = larger


def liquidsvm(n, _options):
    from svc_cv import without_liquidsvm

    if reason := without_liquidsvm():
        return {"skipped": reason}
    from liquidSVM import SVM as LiquidSVM

    X, y, new, new_y = rows(n)
    clock, gammas = Clock(), FACTORS / (X.shape[1] * X.var())
    names = {"GAMMAS": 1 / np.sqrt(gammas), "C_VALUES": CS}
    grid = {name: " ".join(map(str, values)) for name, values in names.items()}
    X, new = X.astype(np.float64), new.astype(np.float64)
    model = LiquidSVM(
        X, y.astype(float), SCENARIO="MC", threads=1, display=0, FOLDS=5, useCells=True, **grid
    )
    model.train()
    model.select()
    found = clock.read()
    return found | {
        "cells_test_error": float(
            np.mean(model.test(new, new_y.astype(float))[0][:, 0] * new_y <= 0)
        )
    }


def known(path):
    """Return the results that a file holds."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=PARTS, help="name:rows")
    parser.add_argument("--results", type=Path, default=Path("svm_full.jsonl"))
    parser.add_argument("--memory", default="2.5GB")
    parser.add_argument("--cell", type=int, default=1000, help="rows of a cell")
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--only", help="run one part in this process")
    options = parser.parse_args()
    if options.only:
        name, n = options.only.split(":")
        found = {
            "fit": fit,
            "cells": cells,
            "finish": finish,
            "libsvm": libsvm,
            "liquidsvm": liquidsvm,
        }[name](int(n), options)
        print(json.dumps({"part": options.only, **found, "load": os.getloadavg()[0]}))
        return
    for part in options.parts:
        done = [each for each in known(options.results) if each["part"] == part]
        if not done:
            child = subprocess.run(
                [sys.executable, *sys.argv, "--only", part], stdout=subprocess.PIPE, text=True
            )
            if child.returncode:
                print(f"{part} failed with {child.returncode}", flush=True)
                continue
            done = [json.loads(child.stdout.splitlines()[-1])]
            with options.results.open("a") as file:
                file.write(json.dumps(done[0]) + "\n")
        print(json.dumps(done[-1]), flush=True)


if __name__ == "__main__":
    main()
