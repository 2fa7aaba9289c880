"""Accuracy lost by compress with a twentieth of the support vectors, but at least 10, on nine sets.

    python benchmarks/compression.py [SET ...] [--seeds 5] [--rows n] [--test-rows n]
    python benchmarks/compression.py --forests

Needs MERCER_DATA. IDA sets have one split for each seed and a C and gamma chosen by SVCCV on the first one; splice_uci
is split in halves by the seed. The other sets have fixed parts, given C and gamma, and one compression for
each seed; ``--rows`` draws that many training rows by the seed. One line for each set: the error of the model, the mean
paired difference of accuracy in points with its standard error over the seeds, and whether the loss is at most 0.2
points or half a standard error, that of an accuracy on the test rows; then the share of the test rows whose label is
the same from models in 16 and 8 bits, which see training rows only.

``--forests`` needs emlearn and avr-gcc: flash on an ATmega328P and accuracy, on the odd rows of scikit-learn's digits,
of models fitted to the even ones: SVC with 17 vectors in 8 bits, and forests. 17 vectors are the most for which a
prediction takes at most 160 000 cycles.
"""

import argparse
import contextlib
import functools
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder
from svm import standardised

import mercer as mc
from mercer import datasets
from mercer.formats import to_c
from mercer.formats.portable import portable
from mercer.formats.quantised import Bytes, Halves, quantise, uncoded

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
# Rows that scales and coefficients of models in 16 and 8 bits are fitted to.
CODED = 2000
# Trees and most leaves of forests; flash is compiled from calls on 64 numbers.
FORESTS = [(10, 32), (20, 24), (30, 32)]
MAIN = "int main(void) { static volatile %s r[64]; %s x[64]; for (int i = 0; i < 64; i++) x[i] = r[i]; return %s; }\n"


@functools.cache
def load(name):
    """Return the training and test rows and labels of a set with fixed parts."""
    data = datasets.load(
        "covtype" if name == "covtype40k" else "mnist" if name == "mnist20k" else name
    )
    if name == "covtype40k":
        order, y = np.random.default_rng(0).permutation(len(data.y))[:60_000], data.y == 2
        scaled = (data.X10 - data.X10.mean(0)) / data.X10.std(0)
        X = np.hstack(
            [scaled[order], np.eye(4)[data.wilderness[order]], np.eye(40)[data.soil[order]]]
        )
        return (
            X[:40_000].astype(np.float32),
            y[order[:40_000]],
            X[40_000:].astype(np.float32),
            y[order[40_000:]],
        )
    if name == "mnist20k":
        X, test = (
            np.asarray(each, np.float32) / 255 for each in (data.X_train[:20_000], data.X_test)
        )
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
    kept, shown = (
        rng.permutation(len(each))[:size] for each, size in ((X, rows), (new, test_rows))
    )
    return X[kept], y[kept], new[shown], truth[shown]


def run(name, seeds, rows, test_rows):
    """Print the line of one set."""
    lost, errors, sizes, seconds, same = [], [], [], [], []
    parameters = SETS[name]
    for seed in range(seeds):
        X, y, new, truth = split(name, seed, rows, test_rows)
        if parameters is None:
            chosen = mc.SVCCV(Cs=10.0 ** np.arange(-1, 4), gammas=7).fit(X, y)
            parameters = chosen.C_, chosen.kernel_.gamma
        kernel = mc.Gaussian(parameters[1])
        model = mc.SVC(
            parameters[0], kernel=kernel, multi_class="ovr" if name == "usps" else "ovo"
        ).fit(X, y)
        size, start = max(LEAST, model.expansion_.shape[0] // SHARE), time.process_time()
        small = mc.compress(model, X, y, n_vectors=size, random_state=seed)
        seconds.append(time.process_time() - start)
        wrong = model.predict(new) != truth
        lost.append(100 * (np.mean(small.predict(new) != truth) - wrong.mean()))
        errors.append(100 * wrong.mean())
        sizes.append((model.expansion_.shape[0], size))
        same.append(agreement(small, X[:CODED], new))
    error, loss = np.mean(errors), np.mean(lost)
    spread = np.std(lost, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
    allowed = max(POINTS, ERRORS * np.sqrt(error * (100 - error) / len(truth)))
    before, after = np.mean(sizes, axis=0)
    print(
        f"{name}: {len(X)} rows, {seeds} seeds, {before:.0f} -> {after:.0f} vectors, error {error:.2f} %, "
        f"{loss:+.2f} +- {spread:.2f} points, allowed {allowed:.2f}: {'kept' if loss <= allowed else 'MISSED'}, "
        f"{np.mean(seconds):.1f} s of processor time; labels equal from 16 bits "
        "{:.2f} %, from 8 bits {:.2f} %".format(*100 * np.mean(same, axis=0)),
        flush=True,
    )


def agreement(small, X, new):
    """Return the shares of rows with the labels of float64 from a model in 16 and in 8 bits."""
    exact, *coded = labels(small, X, new)
    return [np.mean(each == exact) for each in coded]


def labels(small, X, new):
    """Return the places of the labels from a model in float64, and in 16 and 8 bits, which are fitted to rows X."""
    exported = portable(small, "float32")
    exact = uncoded(exported, "float64")
    coded = [quantise(exported, kind, X, exact.scores(X)) for kind in (Halves, Bytes)]
    return [exported.places(each.scores(new)) for each in (exact, *coded)]


def flash(folder, code, *options):
    """Return the bytes of a program for an ATmega328P."""
    (folder / "main.c").write_text(code)
    compiler = [
        "avr-gcc",
        "-mmcu=atmega328p",
        "-std=gnu99",
        "-Os",
        "-ffunction-sections",
        "-Wl,--gc-sections",
    ]
    subprocess.run(
        [*compiler, *options, "-o", folder / "program", folder / "main.c", "-lm"], check=True
    )
    size = subprocess.run(
        ["avr-size", folder / "program"], capture_output=True, text=True, check=True
    ).stdout
    return sum(map(int, size.splitlines()[1].split()[:2]))


def forests(folder):
    """Print flash and accuracy of a model with few vectors, and of forests, compiled in a folder."""
    X, y = load_digits(return_X_y=True)
    X, y, test, truth = X[::2], y[::2], X[1::2], y[1::2]
    empty = flash(folder, "int main(void) { return 0; }")
    small = mc.compress(
        mc.SVC(10.0, multi_class="ovr").fit(X, y), X, y, n_vectors=17, random_state=0
    )
    to_c(small, folder / "model.c", "int8", X=X)
    code = (folder / "model.c").read_text() + MAIN % ("float", "float", "model_predict(x)")
    accuracy = np.mean(small.classes_[labels(small, X, test)[-1]] == truth)
    print(
        f"SVC, 17 vectors in 8 bits: {flash(folder, code) - empty} bytes, accuracy {100 * accuracy:.2f} %",
        flush=True,
    )
    # it makes NumPy raise errors where numbers are rounded to 0
    import emlearn

    # thresholds are whole numbers
    X, test = (16 * rows.astype(np.int16) for rows in (X, test))
    for kind in (RandomForestClassifier, ExtraTreesClassifier):
        for trees, leaves in FORESTS:
            forest = kind(trees, max_leaf_nodes=leaves, random_state=0).fit(X, y)
            coded = emlearn.convert(forest, method="inline", dtype="int16_t")
            coded.save(file=str(folder / "forest.h"), name="forest")
            code = '#include "forest.h"\n' + MAIN % ("int16_t", "int16_t", "forest_predict(x, 64)")
            size = flash(folder, code, "-I", emlearn.includedir, "-I", str(folder)) - empty
            accuracy = 100 * np.mean(coded.predict(test) == truth)
            print(
                f"{kind.__name__}, {trees} trees of {leaves} leaves: {size} bytes, accuracy {accuracy:.2f} %"
            )


def main():
    """Print one line for each requested set, or those of forests."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=[], choices=[[], *SETS])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, help="training rows, all by default")
    parser.add_argument("--test-rows", type=int, help="test rows, all by default")
    parser.add_argument(
        "--forests", action="store_true", help="compare with forests on a microcontroller"
    )
    arguments = parser.parse_args()
    if arguments.forests:
        # emlearn writes to the working directory
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            forests(Path(folder))
        return
    for name in arguments.sets or SETS:
        run(name, arguments.seeds, arguments.rows, arguments.test_rows)


if __name__ == "__main__":
    main()
