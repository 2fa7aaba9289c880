"""Kernel PCA features and a linear support vector machine on handwritten digits, compared with published errors.

Table 1 of Schoelkopf, Smola, Mueller, *Nonlinear component analysis as a kernel eigenvalue problem*, Neural
Computation 10 (1998): kernel (x.z)^d, components of 3 000 training digits of USPS, a linear classifier on the scores of
all 7 291, test error in per cent on 2 007. The paper does not list the 3 000 digits; here they are drawn at random. The
published digits were smoothed. Here the upper table takes smoothed digits, the lower table raw digits.

The classifier is scikit-learn's ``LinearSVC``, one-vs-rest, on scores scaled to mean squared length 1. C is one of
three values, selected for each degree with the largest number of components: trained on 3 000 training digits,
evaluated on 2 000 others. At C = 100 ``LinearSVC`` may reach its limit of iterations, with a warning.

Needs the data set usps.npz in the folder that MERCER_DATA names.

Run: python -m experiments.usps_features [--degrees 1 2 3 4 5] [--digits smoothed raw]
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

import mercer as mc
from mercer import datasets

COMPONENTS = [128, 512, 2048]
COSTS = [1.0, 10.0, 100.0]
PATTERNS = 3000
# Components: errors for degrees 1 to 5; a linear kernel has no more than 256 components.
PUBLISHED = {128: [8.6, 5.8, 5.9, 6.1, 5.8], 512: [None, 4.9, 4.6, 4.4, 5.1], 2048: [None, 4.9, 4.2, 4.1, 4.0]}


def digits(smoothed):
    """Return training digits, their labels, test digits and their labels."""
    usps = datasets.load("usps")
    images = [X.astype(float) for X in (usps.X_train, usps.X_test)]
    train, test = [datasets.smooth(X) for X in images] if smoothed else images
    return train, usps.y_train, test, usps.y_test


def scores(degree, most, train, test, patterns=PATTERNS):
    """Return the scores of both sets, scaled to mean squared length 1 on the training set."""
    rows = np.random.default_rng(0).choice(len(train), patterns, replace=False)
    n = min(most, train.shape[1]) if degree == 1 else most
    pca = mc.KernelPCA(n, kernel=mc.Polynomial(degree, 1 / train.shape[1], 0.0)).fit(train[rows])
    Y = pca.transform(train)
    length = np.sqrt(np.mean((Y**2).sum(axis=1)))
    return Y / length, pca.transform(test) / length


def classifier(C, Y):
    # with many columns the classes are separable and the dual solver is faster; with few, the primal one
    return LinearSVC(C=C, dual=Y.shape[1] > 500, tol=1e-3, random_state=0)


def best_cost(Y, labels):
    """Return the C with the smallest error on held-out training digits."""
    parts = train_test_split(Y, labels, train_size=3000, test_size=2000, random_state=0, stratify=labels)
    return max(COSTS, key=lambda C: classifier(C, Y).fit(parts[0], parts[2]).score(parts[1], parts[3]))


def errors(degree, data, components=COMPONENTS):
    """Return C, and the test error in per cent for each available number of components."""
    train, y, test, y_test = data
    Y, Y_test = scores(degree, max(components), train, test)
    C = best_cost(Y, y)
    available = [n for n in components if n <= Y.shape[1]]
    return C, {n: 100 * (1 - classifier(C, Y[:, :n]).fit(Y[:, :n], y).score(Y_test[:, :n], y_test)) for n in available}


def main():
    """Print the tables; print each row when it is computed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--degrees", type=int, nargs="+", default=[1, 2, 3, 4, 5], choices=range(1, 6))
    parser.add_argument("--digits", nargs="+", default=["smoothed", "raw"], choices=["smoothed", "raw"])
    options = parser.parse_args()
    for name in options.digits:
        data = digits(name == "smoothed")
        print(f"{name} digits: error in per cent by number of components, published in brackets")
        print(f"{'degree':8}{'C':>8}" + "".join(f"{n:>16}" for n in COMPONENTS))
        for degree in options.degrees:
            started = time.perf_counter()
            C, found = errors(degree, data)
            cells = [f"{error:.1f} ({PUBLISHED[n][degree - 1]})" for n, error in found.items()]
            row = "".join(f"{cell:>16}" for cell in cells + [""] * (len(COMPONENTS) - len(cells)))
            print(f"{degree:<8}{C:8g}{row}{time.perf_counter() - started:8.0f} s", flush=True)


if __name__ == "__main__":
    main()
