"""Kernel methods are linear methods in the coordinates of the nonlinear projection trick.

Coordinates Y of the training points and y of a new point reproduce the centred kernel: kernel PCA equals PCA on Y, a
support vector machine the linear one on Y, kernel Fisher discriminants those of linear discriminant analysis on Y. Each
statement is a residual between the kernel method and the linear method of scikit-learn on the coordinates.

Run: python -m experiments.equivalences
"""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.svm import SVC

import mercer as mc
from experiments._report import Picture, Statement, main, panels

SOURCE = "Kwak, IEEE TNNLS 24 (2013), sections III and IV"
KERNEL = mc.Gaussian(1.0)


def sample(rng, n=60):
    labels = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n) + np.pi * labels
    X = np.column_stack([np.cos(angle) + labels, np.sin(angle) + 0.4 * labels])
    return X + 0.15 * rng.standard_normal((n, 2)), labels


def fisher_direction(Y, labels, mu):
    """Return the discriminant of the coordinates: within-class scatter plus mu against the difference of means."""
    means = np.array([Y[labels == c].mean(axis=0) for c in (0, 1)])
    within = (Y - means[labels]).T @ (Y - means[labels]) + mu * np.eye(Y.shape[1])
    return np.linalg.solve(within, means[1] - means[0])


def picture(X, labels, new, Y, y):
    figure, axes = panels(1, 2, 2.6)
    for ax, points, others, title in (
        (axes[0], X, new, "points"),
        (axes[1], Y, y, "first two coordinates"),
    ):
        ax.scatter(*points[:, :2].T, c=labels, cmap="coolwarm", s=8)
        ax.scatter(*others[:, :2].T, color="0.5", s=3)
        ax.set_title(title)
    return figure


def experiment(_quick):
    rng = np.random.default_rng(0)
    (X, labels), (new, _) = sample(rng), sample(rng, 200)
    coordinates = mc.KernelMap(KERNEL).fit(X)
    Y, y = coordinates.transform(X), coordinates.transform(new)
    H = np.eye(len(X)) - 1 / len(X)
    K, k = H @ KERNEL(X) @ H, (KERNEL(new, X) - KERNEL(X).mean(axis=0)) @ H
    found = {"inner products of training points": np.abs(Y @ Y.T - K).max()}
    found["inner products of new and training points"] = np.abs(y @ Y.T - k).max()
    kernel, linear = mc.KernelPCA(6, kernel=KERNEL).fit(X), PCA(6, svd_solver="full").fit(Y)
    ours, theirs = np.abs(kernel.transform(new)), np.abs(linear.transform(y))
    found["kernel PCA and PCA: scores up to sign"] = np.abs(ours - theirs).max()
    ours = mc.SVC(10.0, kernel=KERNEL, tol=1e-8).fit(X, labels).decision_function(new)
    theirs = SVC(C=10.0, kernel="linear", tol=1e-8).fit(Y, labels).decision_function(y)
    found["support vector machines: decision values"] = np.abs(ours - theirs).max()
    fisher = mc.KernelFisher(1, kernel=KERNEL, mu=0.1).fit(X, labels)
    w = fisher_direction(Y, labels, 0.1)
    ours, theirs = fisher.transform(new)[:, 0], y @ w
    found["Fisher discriminants: 1 - |correlation| of scores"] = 1 - abs(
        np.corrcoef(ours, theirs)[0, 1]
    )
    robust = mc.PCAL1(2, random_state=0)
    ours = mc.Kernelized(robust, KERNEL).fit(X).transform(new)
    found["PCA-L1: scores up to sign"] = np.abs(
        np.abs(ours) - np.abs(robust.fit(Y).transform(y))
    ).max()
    most = max(found.values())
    yield f"The largest residual between kernel methods and linear methods on coordinates is {most:.0e}."
    yield Picture(
        lambda: picture(X, labels, new, Y, y), "Training points by class, new points grey."
    )
    for name, value in found.items():
        yield Statement("Equivalences", name, "S", value, 1e-5)


if __name__ == "__main__":
    main(experiment, SOURCE)
