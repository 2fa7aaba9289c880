"""Sets that a hyperplane separates only after a feature map, and the perceptron's two forms.

One dimension with (x, x^2); a disc in a ring with (x1, x2^2, x1 x2), written with squares of both coordinates; the map
(sin x2, exp(x2 + x1), x1, x2^tan(x1)); m points in m - 1 dimensions; angles of a truck in polar coordinates. A set is
separable if the perceptron ends without mistakes. The perceptron in the feature space makes the same mistakes with the
vector w (primal) and with coefficients of the kernel (dual).

Run: python -m experiments.feature_maps
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from experiments._feature_sets import constant, sets
from experiments._report import Picture, Statement, main, panels

SOURCE = "Poczos, Introduction to machine learning, kernel methods (slides)"


def separable(X, signs, passes=20_000):
    """Return whether the perceptron separates rows by a hyperplane through the origin."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mc.KernelPerceptron("linear", max_iter=passes).fit(X, signs)
    return bool(model.margin_[0] > 0)


def primal(F, signs):
    """Return w and the rows of all mistakes, in order."""
    w, mistakes, clean = np.zeros(F.shape[1]), [], False
    while not clean:
        clean = True
        for j, (x, y) in enumerate(zip(F, signs, strict=True)):
            if y * (w @ x) <= 0:
                w, clean = w + y * x, False
                mistakes.append(j)
    return w, mistakes


def picture(found):
    figure, axes = panels(2, 2, 4.6)
    for ax, (name, (X, signs, phi)) in zip(axes.flat, found.items(), strict=True):
        model = mc.SVC(np.inf, kernel=mc.FeatureMap(phi)).fit(X, signs)
        if X.shape[1] == 1:
            ax.scatter(X[:, 0], X[:, 0] ** 2, c=signs, cmap="coolwarm", s=6)
            ax.axhline(1.0, color="0.5")
        else:
            ends = [np.linspace(*(side.min(), side.max()), 120) for side in X.T]
            grid = np.meshgrid(*ends)
            values = model.decision_function(np.column_stack([side.ravel() for side in grid]))
            ax.contour(*grid, values.reshape(grid[0].shape), [0], colors="0.5")
            ax.scatter(*X.T, c=signs, cmap="coolwarm", s=6)
        ax.set_title(name)
    return figure


def experiment(_quick):
    rng = np.random.default_rng(0)
    found = sets(rng)
    sides = {
        name: (separable(constant(X), signs, 300), separable(phi(X), signs))
        for name, (X, signs, phi) in found.items()
    }
    before, after = np.sum(list(sides.values()), axis=0)
    yield f"A hyperplane separates {after} of {len(sides)} sets after their feature map, and {before} before it."
    yield Picture(
        lambda: picture(found),
        "The sets; lines are where the maximum margin hyperplane meets them.",
    )
    for name, (before, after) in sides.items():
        yield Statement("Feature maps", f"{name}: not separable after the map", "S", not after, 0)
        yield Statement("Feature maps", f"{name}: separable before the map", "S", before, 0)
    missed = 0
    for m in range(2, 12):
        X = constant(rng.normal(size=(m, m - 1)))
        labelled = [
            np.where((code >> np.arange(m)) & 1, 1.0, -1.0) for code in rng.integers(1, 2**m - 1, 5)
        ]
        missed += sum(not separable(X, signs) for signs in labelled if len(set(signs)) == 2)
    yield Statement(
        "Feature maps", "m points in m - 1 dimensions: labels without a hyperplane", "S", missed, 0
    )
    X, signs, phi = found["(x, x^2)"]
    w, mistakes = primal(phi(X), signs)
    model = mc.KernelPerceptron(mc.FeatureMap(phi), max_iter=100_000).fit(X, signs)
    counts = np.zeros(len(X))
    np.add.at(counts, model.support_[model.mistakes_[0].rows], 1)
    difference = np.abs(counts - np.bincount(mistakes, minlength=len(X))).sum()
    yield Statement(
        "Perceptron",
        "mistakes of the dual run that the primal run does not make",
        "S",
        difference,
        0,
    )
    away = np.abs(model.decision_function(X) - phi(X) @ w).max()
    yield Statement("Perceptron", "largest difference of primal and dual outputs", "S", away, 1e-9)


if __name__ == "__main__":
    main(experiment, SOURCE)
