"""Selection of C and gamma: SVCCV beside scikit-learn's GridSearchCV, on the same folds, and beside liquidSVM.

    python benchmarks/svc_cv.py --n 10000 --d 10 --cs 50 --folds 10 --share 0.06
    python benchmarks/svc_cv.py --n 1000 --sets covtype,letter,usps,ijcnn1,mnist [--draws 10]

The peer is timed on a share of the grid: evenly spaced values of C, at least three, all folds, two processes. The time
for the other values is interpolated in log C. Times are those of `fit` without the refit, after one small fit of each
system for imports and compilation.

With ``--sets``, 5 values of gamma, 10 of C and 5 folds on n rows of each set (needs MERCER_DATA; classes are halved),
fits alternate and figures are the least processor time of each system on one thread, the refit of Mercer and the
selection of liquidSVM included. Mercer's time on all threads is that of the clock. liquidSVM 1.0.1 is optional, and not
in any list of requirements because of its licence (AGPL): ``pip install --no-build-isolation liquidSVM`` with g++ and
setuptools < 70. It solves without an intercept, so test errors on n other rows are printed beside the times.
With ``--draws`` only test errors are compared, over random draws of training rows from 4 n rows; the others are tested.
"""

import argparse
import json
import os
import platform
import sysconfig
import time

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from svm_grid import rows
from threadpoolctl import threadpool_limits

import mercer as mc
from mercer._compute.threads import limit_threads
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


def halved(name, n):
    """Return training rows, labels, test rows and labels of a set: the upper half of the classes against the lower."""
    X, y, new, new_y = rows(name, n, labels=True)
    classes = np.unique(np.concatenate([y, new_y]))
    upper = classes[len(classes) // 2 :]
    return X, np.isin(y, upper), new, np.isin(new_y, upper)


def liquid_search(X, y, new, gammas, Cs):
    """Return the predictions of liquidSVM for new rows after its search on one thread, and the processor time of it."""
    from liquidSVM import SVM as LiquidSVM

    names = {"GAMMAS": 1 / np.sqrt(gammas), "C_VALUES": Cs}
    start = time.process_time()
    grid = {name: " ".join(map(str, values)) for name, values in names.items()}
    model = LiquidSVM(
        X, np.where(y, 1.0, -1.0), SCENARIO="MC", threads=1, display=0, FOLDS=5, **grid
    )
    model.train()
    model.select()
    seconds = time.process_time() - start
    # it refuses test labels of one class; they change no prediction
    values = model.test(new, np.where(np.arange(len(new)) % 2, 1.0, -1.0))[0][:, 0]
    model.clean()
    return values > 0, seconds


def our_search(X, y, new, gammas, Cs):
    """Return the predictions of Mercer for new rows after its search on one thread, and the processor time of it."""
    with limit_threads(1), threadpool_limits(1):
        start = time.process_time()
        model = SVCCV(Cs=Cs, gammas=gammas, cv=5).fit(X, y)
        seconds = time.process_time() - start
    return model.predict(new), seconds


def without_liquidsvm():
    """Return why liquidSVM cannot be imported, or None."""
    # its import asks for a name of Python 2
    sysconfig.get_config_vars()["SO"] = sysconfig.get_config_var("EXT_SUFFIX")
    try:
        import liquidSVM  # noqa: F401
    except (ImportError, NameError) as error:
        return f"liquidSVM is skipped: {error!r}"
    return None


def beside_liquidsvm(names, n, repeat):
    """Print a line for each set."""
    reason = without_liquidsvm()
    searches = (
        {"mercer": our_search} if reason else {"mercer": our_search, "liquidSVM": liquid_search}
    )
    print(
        reason or "",
        f"load {os.getloadavg()[0]:.1f}; seconds on one thread, test errors; on all threads",
        flush=True,
    )
    for name in names:
        X, y, new, new_y = halved(name, n)
        gammas = 4.0 ** np.arange(-2, 3) / (X.shape[1] * X.var())
        Cs = np.logspace(-2, 3, 10)
        our_search(X[:300], y[:300], new[:10], gammas[:1], Cs[:2])
        times, errors = {each: [] for each in searches}, {}
        for _ in range(repeat):
            for each, search in searches.items():
                predicted, seconds = search(X, y, new, gammas, Cs)
                times[each].append(seconds)
                errors[each] = np.mean(predicted != new_y)
        spent, _ = timed(SVCCV(Cs=Cs, gammas=gammas, cv=5), X, y)
        parts = [f"{each} {min(times[each]):.2f} s, {errors[each]:.4f}" for each in searches]
        ratio = (
            "" if reason else f"; {min(times['liquidSVM']) / min(times['mercer']):.2f} times faster"
        )
        deviation = np.sqrt(errors["mercer"] * (1 - errors["mercer"]) / len(new_y))
        print(
            f"{name:8} n {len(y)}  {'; '.join(parts)} (+- {deviation:.4f}){ratio}; {spent:.2f} s",
            flush=True,
        )


def over_draws(names, n, draws):
    """Print a line for each set: mean test errors, their mean difference, and the standard error of one of them."""
    if reason := without_liquidsvm():
        print(reason)
        return
    for name in names:
        X, y, new, new_y = halved(name, 2 * n)
        X = np.concatenate([X, new])
        y = np.concatenate([y, new_y])
        errors = []
        for seed in range(draws):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[:n], order[n:]
            gammas = 4.0 ** np.arange(-2, 3) / (X.shape[1] * X[train].var())
            Cs = np.logspace(-2, 3, 10)
            found = (
                search(X[train], y[train], X[test], gammas, Cs)[0]
                for search in (our_search, liquid_search)
            )
            errors.append([100 * np.mean(labels != y[test]) for labels in found])
        ours, theirs = np.mean(errors, axis=0)
        change = np.diff(errors, axis=1)
        spread = change.std(ddof=1) / np.sqrt(draws)
        deviation = np.sqrt(ours * (100 - ours) / len(test))
        print(
            f"{name:8} n {n}  {ours:.2f} and {theirs:.2f} %, difference {ours - theirs:+.2f} +- {spread:.2f}; "
            f"one error +- {deviation:.2f}",
            flush=True,
        )


def main():
    """Print one JSON line, or a line for each set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--d", type=int, default=10)
    parser.add_argument("--cs", type=int, default=50)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--low", type=float, default=-3, help="log10 of the smallest C")
    parser.add_argument("--high", type=float, default=3, help="log10 of the largest C")
    parser.add_argument(
        "--share", type=float, default=0.06, help="share of the grid that the peer is timed on"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", help="sets on which SVCCV is timed beside liquidSVM")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument(
        "--draws", type=int, help="random draws over which test errors are compared"
    )
    options = parser.parse_args()
    if options.sets and options.draws:
        over_draws(options.sets.split(","), options.n, options.draws)
        return
    if options.sets:
        beside_liquidsvm(options.sets.split(","), options.n, options.repeat)
        return

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
    asked = np.unique(
        np.linspace(0, len(Cs) - 1, max(3, round(options.share * len(Cs)))).astype(int)
    )
    each, difference = [], 0.0
    for k in asked:
        peer = GridSearchCV(
            SVC(gamma=gamma, cache_size=1000), {"C": [Cs[k]]}, cv=cv, n_jobs=2, refit=False
        )
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
