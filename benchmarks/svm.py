"""Support vector classification: seconds to fit and to predict, and the dual objective, for Mercer and its peers.

    python benchmarks/svm.py [--rows N] [--repeat K] [--sets mnist20k,letter,...] [--peers sklearn,intelex,libsvm]

Needs MERCER_DATA. Fits of all contenders alternate in one run; medians are printed. "bare" is the matrix product of the
test rows with the distinct support vectors.
"""

import argparse
import time
from statistics import median

import numpy as np

import mercer as mc
from mercer import datasets


def standardised(train, test):
    mean, deviation = train.mean(0, dtype=np.float64), train.std(0, dtype=np.float64)
    deviation[deviation == 0] = 1
    return ((train - mean) / deviation).astype(np.float32), ((test - mean) / deviation).astype(
        np.float32
    )


def mnist20k():
    data = datasets.load("mnist")
    train, test = (data[key].astype(np.float32) / 255 for key in ("X_train", "X_test"))
    return train[:20000], data.y_train[:20000].astype(int), test, 10.0, 0.02, "ovo"


def letter():
    data = datasets.load("letter")
    return *_with_labels(*standardised(data.X_train, data.X_test), data.y_train), 10.0, 0.1, "ovo"


def ijcnn1():
    data = datasets.load("ijcnn1")
    return *_with_labels(*standardised(data.X_train, data.X_test), data.y_train), 10.0, 0.5, "ovo"


def covtype(n_train, n_test):
    data = datasets.load("covtype")
    X = data.X10.astype(np.float64)
    X = np.hstack(
        [(X - X.mean(0)) / X.std(0), np.eye(4)[data.wilderness], np.eye(40)[data.soil]]
    ).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return X[train], np.where(data.y[train] == 2, 1, -1), X[test], 10.0, 0.1, "ovo"


def covtype40k():
    return covtype(40_000, 20_000)


def usps10():
    data = datasets.load("usps")
    return data.X_train, data.y_train.astype(int), data.X_test, 10.0, 1 / 128, "ovr"


def _with_labels(train, test, y):
    return train, y.astype(int), test


SETS = {function.__name__: function for function in (mnist20k, letter, ijcnn1, covtype40k, usps10)}


class Mercer:
    def fit(self, X, y, C, gamma, shape):
        self.model = mc.SVC(
            C, kernel=mc.Gaussian(gamma), multi_class=shape, decision_function_shape="ovo"
        ).fit(X, y)
        return self

    def decision_values(self, X):
        return self.model.decision_function(X)

    def pairs(self):
        psi = self.model.expansion_
        return psi.points, psi.coef


class Sklearn:
    def make(self):
        from sklearn.svm import SVC

        return SVC

    def fit(self, X, y, C, gamma, shape):
        targets = [y] if shape == "ovo" else [y == label for label in np.unique(y)]
        SVC = self.make()
        self.models = [
            SVC(C=C, gamma=gamma, cache_size=1000, decision_function_shape="ovo").fit(X, target)
            for target in targets
        ]
        return self

    def decision_values(self, X):
        return np.column_stack([model.decision_function(X) for model in self.models])

    def pairs(self):
        for model in self.models:
            edges = np.concatenate([[0], np.cumsum(model.n_support_)])
            coef = model.dual_coef_
            for i in range(len(edges) - 1):
                for j in range(i + 1, len(edges) - 1):
                    own, other = slice(edges[i], edges[i + 1]), slice(edges[j], edges[j + 1])
                    yield (
                        np.vstack([model.support_vectors_[own], model.support_vectors_[other]]),
                        np.concatenate([coef[j - 1, own], coef[i, other]]),
                    )


class Intelex(Sklearn):
    def make(self):
        from sklearnex.svm import SVC

        return SVC


class Libsvm:
    def fit(self, X, y, C, gamma, shape):
        from libsvm.svmutil import svm_train

        targets = [y] if shape == "ovo" else [np.where(y == label, 1, -1) for label in np.unique(y)]
        options = f"-q -c {C} -g {gamma} -m 1000 -e 0.001"
        self.models = [svm_train(target, X.astype(np.float64), options) for target in targets]
        return self

    def decision_values(self, X):
        from libsvm.svmutil import svm_predict

        return [svm_predict([], X.astype(np.float64), model, "-q")[2] for model in self.models]


CONTENDERS = {"mercer": Mercer, "sklearn": Sklearn, "intelex": Intelex, "libsvm": Libsvm}


def objective(contender, gamma):
    """Return the sum of the dual objectives of all binary classifiers, in float64, from vectors and coefficients."""
    if isinstance(contender, Mercer):
        vectors, coefs = contender.pairs()
        classifiers = (
            (vectors[column != 0], column[column != 0]) for column in coefs.T.astype(np.float64)
        )
    elif isinstance(contender, Sklearn):
        classifiers = contender.pairs()
    else:
        return float("nan")
    kernel = mc.Gaussian(gamma)
    total = 0.0
    for points, coef in classifiers:
        gram = mc.Gram(kernel, points.astype(np.float64))
        total += np.abs(coef).sum() - 0.5 * coef @ (gram @ coef)
    return total


def seconds(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, help="number of training rows")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--peers", default="sklearn,intelex,libsvm")
    options = parser.parse_args()
    names = ["mercer", *filter(None, options.peers.split(","))]
    print(
        f"{'set':<12}{'contender':<11}{'fit, s':>9}{'predict, s':>12}{'bare, s':>9}{'vectors':>9}{'objective':>16}"
    )
    for title in options.sets.split(","):
        compare(title, names, options.rows, options.repeat)


def compare(title, names, n_rows, repeat):
    """Print one line for each contender on one data set."""
    X, y, Z, C, gamma, shape = SETS[title]()
    X, y = X[:n_rows], y[:n_rows]
    fits, predictions = ({name: [] for name in names} for _ in range(2))
    last = {}
    # compile, and start the threads, before time is measured
    Mercer().fit(X[:2000], y[:2000], C, gamma, shape).decision_values(Z[:100])
    for _ in range(repeat):
        for name in names:
            taken, last[name] = seconds(CONTENDERS[name]().fit, X, y, C, gamma, shape)
            fits[name].append(taken)
            predictions[name].append(seconds(last[name].decision_values, Z)[0])
    vectors = last["mercer"].model.support_vectors_
    bare = median(seconds(np.matmul, Z, vectors.T)[0] for _ in range(3))
    for name in names:
        row = f"{title:<12}{name:<11}{median(fits[name]):>9.2f}{median(predictions[name]):>12.3f}{bare:>9.3f}"
        print(row + f"{len(vectors):>9}{objective(last[name], gamma):>16.8g}", flush=True)


if __name__ == "__main__":
    main()
