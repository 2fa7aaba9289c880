"""Fits and predictions of SVC over a grid of sets, C and gamma, as ratios to the fastest peer.

    python benchmarks/svm_grid.py [--rows 4000] [--repeat 3] [--sets letter,usps,...] [--peers sklearn,intelex,...]
        [--cpu] [--picture profile.png]

Needs MERCER_DATA. Fits of all contenders alternate; each figure is a median of the clock, or of the processor's time
over all threads. gamma is 1/4, 1 and 4 times "scale". A ratio above 1 means that Mercer is faster than the fastest
peer. Every cell is printed, the summary last. The picture is a performance profile: the share of the cells in which a
contender takes at most so many times the time of the fastest. reuters_moneyfx is sparse, which intelex does not take.
``normal:D:K`` are rows of D columns in K normal classes, which overlap.

Peers are scikit-learn, scikit-learn-intelex, LIBSVM with OpenMP (libsvm-official) and thundersvm-cpu 0.3.3; those that
cannot be imported are skipped with the reason. The Python interface of LIBSVM predicts row by row and is not timed.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp
from svm import standardised

import mercer as mc
from mercer import datasets

SETS = (
    "letter",
    "usps",
    "ijcnn1",
    "covtype",
    "mnist",
    "ida_banana",
    "ida_image",
    "splice_uci",
    "reuters_moneyfx",
)
PEERS = "sklearn", "intelex", "libsvm", "thundersvm"


def rows(name, n, labels=False):
    """Return n training rows and their labels, and as many other rows, or the same where there are too few.

    With ``labels`` the others come with theirs and are never training rows, of which there are at most four fifths.
    """
    data = None if name.startswith("normal:") else datasets.load(name)
    if data is None:
        X, y = normal_rows(2 * n, *map(int, name.split(":")[1:]))
    elif name == "reuters_moneyfx":
        X, y = sparse_rows(data)
    elif name == "covtype":
        X = np.hstack(
            [data.X10 / data.X10.std(0), np.eye(4)[data.wilderness], np.eye(40)[data.soil]]
        )
        y = data.y == 2
    elif hasattr(data, "X_train"):
        X, y = (
            np.concatenate([data.X_train, data.X_test]),
            np.concatenate([data.y_train, data.y_test]),
        )
    else:
        X, y = data.X, data.y
    order = np.random.default_rng(0).permutation(len(y))
    n = min(n, len(order) * 4 // 5) if labels else n
    train, test = order[:n], order[n : 2 * n] if labels or len(order) >= 2 * n else order[:n]
    if sp.issparse(X):
        return (X[train], y[train], X[test], y[test]) if labels else (X[train], y[train], X[test])
    own, new = (np.asarray(X[part], np.float64) for part in (train, test))
    own, new = (
        (own / 255, new / 255)
        if name == "mnist"
        else (own, new)
        if name == "usps"
        else standardised(own, new)
    )
    own, new = own.astype(np.float64), new.astype(np.float64)
    return (
        (own, y[train].astype(int), new, y[test].astype(int))
        if labels
        else (own, y[train].astype(int), new)
    )


def normal_rows(n, d, n_classes):
    """Return n rows of d columns and their classes, whose means are about as far apart as two columns are wide."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    centres = rng.normal(size=(n_classes, d)) / np.sqrt(max(1, d / 10))
    return centres[y] + rng.normal(size=(n, d)), y


def sparse_rows(data):
    """Return the rows of reuters_moneyfx, training rows first, and their labels."""
    parts = [
        sp.csr_matrix(
            (data[f"X{part}_data"], data[f"X{part}_indices"], data[f"X{part}_indptr"]),
            shape=(n, width),
        )
        for part, n, width in (("tr", *data["shape"][[0, 2]]), ("te", *data["shape"][[1, 2]]))
    ]
    return sp.vstack(parts, format="csr").astype(np.float64), np.concatenate(
        [data.y_train, data.y_test]
    ).astype(int)


def scale(X):
    """Return the gamma of the rule "scale"."""
    mean = X.mean()
    square = X.multiply(X).mean() if sp.issparse(X) else np.square(X).mean()
    return 1 / (X.shape[1] * (square - mean**2))


class Libsvm:
    """LIBSVM by its own Python interface."""

    def __init__(self, C, gamma, cache_size):
        self.options = f"-q -c {C} -g {gamma} -m {cache_size}"

    def fit(self, X, y):
        from libsvm.svmutil import svm_problem, svm_train

        self.model = svm_train(svm_problem(y.astype(float), X), self.options)

    predict = None


class Thunder:
    """ThunderSVM on the processor."""

    def __init__(self, C, gamma, cache_size):
        from thundersvm import SVC

        self.model = SVC(C=C, gamma=gamma, max_mem_size=cache_size)
        self.fit, self.predict = self.model.fit, self.model.predict


def sklearn():
    from sklearn.svm import SVC

    return SVC


def intelex():
    from sklearnex.svm import SVC

    return SVC


def libsvm():
    import libsvm.svmutil  # noqa: F401

    return Libsvm


def thundersvm():
    import thundersvm  # noqa: F401

    return Thunder


def peers(names):
    """Return the constructors of the peers by name, without those that cannot be imported."""
    found = {}
    known = {each.__name__: each for each in (sklearn, intelex, libsvm, thundersvm)}
    for name in names:
        try:
            found[name] = known[name]()
        except (ImportError, OSError) as error:
            print(f"{name} is skipped: {error!r}", flush=True)
    return found


def seconds(clock, function, *arguments):
    """Return the time of a call, NaN of None."""
    if function is None:
        return np.nan
    start = clock()
    function(*arguments)
    return clock() - start


def cell(X, y, new, C, gamma, others, repeat, clock):
    """Return the median seconds of fits and predictions by contender, and Mercer's violation."""
    models = {"mercer": mc.SVC(C, kernel=mc.Gaussian(gamma))}
    models |= {name: make(C=C, gamma=gamma, cache_size=1000) for name, make in others.items()}
    times = {name: [] for name in models}
    for _ in range(repeat):
        for name, model in models.items():
            times[name].append(
                (seconds(clock, model.fit, X, y), seconds(clock, model.predict, new))
            )
    return {name: np.median(pairs, axis=0) for name, pairs in times.items()}, models[
        "mercer"
    ].certificate_.kkt


def draw(path, names, cells, rows):
    """Write the performance profiles of fits and predictions; ``cells`` hold two times for each contender."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for k, (axis, title) in enumerate(zip(axes, ("fit", "predict"), strict=True)):
        times = np.array(
            [[pair.get(name, (np.nan, np.nan))[k] for name in names] for pair in cells]
        )
        ratios = times / np.nanmin(times, axis=1, keepdims=True)
        for i, (name, own) in enumerate(zip(names, ratios.T, strict=True)):
            if np.isfinite(own).any():
                reached = np.sort(own[np.isfinite(own)])
                share = np.arange(1, len(reached) + 1) / len(own)
                x, y = (
                    np.concatenate([[1], reached, [100]]),
                    np.concatenate([[0], share, share[-1:]]),
                )
                axis.step(x, y, where="post", label=name, color=f"C{i}")
        axis.set(
            xscale="log",
            xlim=(1, 30),
            ylim=(0, 1.02),
            title=f"{title}, n = {rows}, {len(cells)} cells",
        )
        axis.set(xlabel="times the fastest", ylabel="share of cells" if k == 0 else "")
        axis.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].legend(loc="lower right")
    figure.savefig(path, dpi=120)


def summary(cells):
    """Print the mean, the worst and the share of wins over the fastest peer."""
    for k, what in enumerate(("fit", "predict")):
        values = [
            np.nanmin([t[k] for who, t in each.items() if who != "mercer"]) / each["mercer"][k]
            for each in cells
        ]
        values = np.array(values)
        mean, wins = np.exp(np.log(values).mean()), np.mean(values >= 1)
        print(
            f"{what}: geometric mean {mean:.2f}, worst {values.min():.2f}, at least 1 in {wins:.0%} of {len(values)}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument(
        "--cpu", action="store_true", help="time of the processor instead of the clock"
    )
    parser.add_argument("--picture", help="file for the performance profile")
    arguments = parser.parse_args()
    others, cells = peers(arguments.peers.split(",")), []
    clock = time.process_time if arguments.cpu else time.perf_counter
    print(
        "set          C  gamma/scale  fit / predict in ms of each contender; ratios to the fastest peer; violation"
    )
    for name in arguments.sets.split(","):
        X, y, new = rows(name, arguments.rows)
        own = {
            who: peer for who, peer in others.items() if not (sp.issparse(X) and who == "intelex")
        }
        # machine code and caches before the clock
        mc.SVC(kernel=mc.Gaussian(scale(X))).fit(X, y).predict(new)
        for C in (1.0, 10.0, 100.0):
            for factor in (0.25, 1.0, 4.0):
                times, violation = cell(
                    X, y, new, C, factor * scale(X), own, arguments.repeat, clock
                )
                cells.append(times)
                ratio = np.nanmin([times[peer] for peer in own], axis=0) / times["mercer"]
                figures = "  ".join(
                    f"{who} {fit * 1e3:.1f} / {use * 1e3:.1f}" for who, (fit, use) in times.items()
                )
                print(
                    f"{name:11} {C:4.0f} {factor:5}  {figures}   {ratio[0]:.2f} {ratio[1]:.2f}  {violation:.1e}",
                    flush=True,
                )
    summary(cells)
    if arguments.picture:
        draw(arguments.picture, ["mercer", *others], cells, arguments.rows)


if __name__ == "__main__":
    main()
