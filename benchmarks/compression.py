"""Accuracy lost by compress with a twentieth of the support vectors, but at least 10, on nine sets.

    python benchmarks/compression.py [SET ...] [--seeds 5] [--rows n] [--test-rows n]

Needs MERCER_DATA. IDA sets have one split for each seed and a C and gamma chosen by SVCCV on the first one; splice_uci
is split in halves by the seed. The other sets have fixed parts, given C and gamma, and one compression for
each seed; ``--rows`` draws that many training rows by the seed. One line for each set: the error of the model, the mean
paired difference of accuracy in points with its standard error over the seeds, and whether the loss is at most 0.2
points or half a standard error, that of an accuracy on the test rows.
"""

import argparse
import functools
import time

import numpy as np
from sklearn.preprocessing import OneHotEncoder
from svm import standardised

import mercer as mc
from mercer import datasets

# C and gamma; None stands for those of cross-validation.
SETS = {
    "ida_waveform": None,
    "ida_banana": None,
    "ida_image": None,
    "splice_uci": None,
    "letter": (10.0, 0.1),
    "usps": (10.0, 1 / 128),
    "ijcnn1": (10.0, 0.5),
    "covtype40k": (10.0, 0.1),
    "mnist20k": (10.0, 0.02),
}
SHARE, LEAST = 20, 10
# Largest loss: points, or standard errors if these are more.
POINTS, ERRORS = 0.2, 0.5


@functools.cache
def load(name):
    """Return the training and test rows and labels of a set with fixed parts."""
    data = datasets.load("covtype" if name == "covtype40k" else "mnist" if name == "mnist20k" else name)
    if name == "covtype40k":
        order, y = np.random.default_rng(0).permutation(len(data.y))[:60_000], data.y == 2
        scaled = (data.X10 - data.X10.mean(0)) / data.X10.std(0)
        X = np.hstack([scaled[order], np.eye(4)[data.wilderness[order]], np.eye(40)[data.soil[order]]])
        return X[:40_000].astype(np.float32), y[order[:40_000]], X[40_000:].astype(np.float32), y[order[40_000:]]
    if name == "mnist20k":
        X, test = (np.asarray(each, np.float32) / 255 for each in (data.X_train[:20_000], data.X_test))
        return X, data.y_train[:20_000], test, data.y_test
    X, test = (np.asarray(each, np.float64) for each in (data.X_train, data.X_test))
    X, test = (X, test) if name == "usps" else standardised(X, test)
    return X.astype(np.float32), data.y_train, test.astype(np.float32), data.y_test


def split(name, seed, rows=None, test_rows=None):
    """Return training rows and labels, and test rows and labels, of one seed."""
    rng = np.random.default_rng(seed)
    if name.startswith("ida_"):
        data = datasets.load(name)
        train, test = data.train_idx[seed], data.test_idx[seed]
        (X, new), y, truth = standardised(data.X[train], data.X[test]), data.y[train], data.y[test]
    elif name == "splice_uci":
        data, order = datasets.load(name), rng.permutation(3190)
        X = OneHotEncoder(sparse_output=False).fit_transform(data.X)[order]
        X, new, y, truth = X[:1595], X[1595:], data.y[order[:1595]], data.y[order[1595:]]
    else:
        X, y, new, truth = load(name)
    kept, shown = (rng.permutation(len(each))[:size] for each, size in ((X, rows), (new, test_rows)))
    return X[kept], y[kept], new[shown], truth[shown]


def run(name, seeds, rows, test_rows):
    """Print the line of one set."""
    lost, errors, sizes, seconds = [], [], [], []
    parameters = SETS[name]
    for seed in range(seeds):
        X, y, new, truth = split(name, seed, rows, test_rows)
        if parameters is None:
            chosen = mc.SVCCV(Cs=10.0 ** np.arange(-1, 4), gammas=7).fit(X, y)
            parameters = chosen.C_, chosen.kernel_.gamma
        kernel = mc.Gaussian(parameters[1])
        model = mc.SVC(parameters[0], kernel=kernel, multi_class="ovr" if name == "usps" else "ovo").fit(X, y)
        size, start = max(LEAST, model.expansion_.shape[0] // SHARE), time.process_time()
        small = mc.compress(model, X, y, n_vectors=size, random_state=seed)
        seconds.append(time.process_time() - start)
        wrong = model.predict(new) != truth
        lost.append(100 * (np.mean(small.predict(new) != truth) - wrong.mean()))
        errors.append(100 * wrong.mean())
        sizes.append((model.expansion_.shape[0], size))
    error, loss = np.mean(errors), np.mean(lost)
    spread = np.std(lost, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
    allowed = max(POINTS, ERRORS * np.sqrt(error * (100 - error) / len(truth)))
    before, after = np.mean(sizes, axis=0)
    print(
        f"{name}: {len(X)} rows, {seeds} seeds, {before:.0f} -> {after:.0f} vectors, error {error:.2f} %, "
        f"{loss:+.2f} +- {spread:.2f} points, allowed {allowed:.2f}: {'kept' if loss <= allowed else 'MISSED'}, "
        f"{np.mean(seconds):.1f} s of processor time",
        flush=True,
    )


def main():
    """Print one line for each requested set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=list(SETS), choices=[[], *SETS])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="training rows, all by default")
    parser.add_argument("--test-rows", type=int, help="test rows, all by default")
    arguments = parser.parse_args()
    for name in arguments.sets or SETS:
        run(name, arguments.seeds, arguments.rows, arguments.test_rows)


if __name__ == "__main__":
    main()
