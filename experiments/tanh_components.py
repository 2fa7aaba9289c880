"""Kernel principal components of three clusters with the kernel tanh(gain x.z + 1), which is not positive definite.

The centred Gram matrix has negative eigenvalues for each gain; kernel PCA works on its positive part. The numbers of
the extreme eigenvalues were computed independently; the text of 1999 shows the components as pictures.

Run: python -m experiments.tanh_components [--quick]
"""

import warnings

import numpy as np
from sklearn.decomposition import PCA

import mercer as mc
from experiments._report import Entry, Picture, Statement, main, panels
from experiments.three_clusters import clusters

SOURCE = "Schoelkopf et al., Advances in kernel methods (1998), Fig. 1"
# Gains: least and largest eigenvalue of an independent computation.
KNOWN = {0.1: (-0.0025, 0.72), 1.0: (-0.26, 7.2), 5.0: (-4.3, 39.0), 10.0: (-8.3, 60.0)}


def fitted(X, gain):
    """Return kernel PCA with three components, and the extreme eigenvalues of the centred Gram matrix."""
    kernel = mc.Sigmoid(gain, 1.0)
    K = kernel(X) - kernel(X).mean(axis=0)
    spectrum = np.linalg.eigvalsh(K - K.mean(axis=1)[:, None])
    with warnings.catch_warnings():
        # the kernel is indefinite on purpose
        warnings.simplefilter("ignore", UserWarning)
        return mc.KernelPCA(3, kernel=kernel).fit(X), spectrum[[0, -1]]


def picture(X):
    figure, axes = panels(4, 3, 5.6, sharex=True, sharey=True)
    grid = np.meshgrid(np.linspace(-1, 1, 50), np.linspace(-0.5, 1, 40))
    for gain, row in zip(KNOWN, axes, strict=True):
        kpca, _ = fitted(X, gain)
        scores = kpca.transform(np.column_stack([axis.ravel() for axis in grid]))
        for j, ax in enumerate(row):
            ax.contour(*grid, scores[:, j].reshape(grid[0].shape), 8, linewidths=0.8)
            ax.scatter(*X.T, s=1, color="0.6")
            ax.set(
                xticks=[],
                yticks=[],
                title=f"gain {gain:g}, {kpca.explained_variance_ratio_[j]:.3f}",
            )
    return figure


def experiment(quick):
    draws = [clusters(np.random.default_rng(seed))[0] for seed in range(3 if quick else 10)]
    extremes, alike = {gain: [] for gain in KNOWN}, {gain: [] for gain in KNOWN}
    for X in draws:
        linear = PCA(2).fit_transform(X)
        for gain in KNOWN:
            kpca, spectrum = fitted(X, gain)
            extremes[gain].append(spectrum)
            scores = kpca.transform(X)
            alike[gain].append(
                min(abs(np.corrcoef(linear[:, j], scores[:, j])[0, 1]) for j in range(2))
            )
    yield (
        f"With the gain 0.1 the scores of the first two components have correlations of at least {min(alike[0.1]):.3f} "
        f"with those of linear PCA, with the gain 10 of {min(alike[10.0]):.3f}."
    )
    yield Picture(
        lambda: picture(draws[0]),
        "Components 1 to 3, one row for each gain, with their shares of variance.",
    )
    for gain, values in alike.items():
        name = f"gain {gain:g}, correlation of components 1 and 2 with linear PCA"
        if gain == 0.1:
            yield Statement("Fig. 1", f"{name}, below 1 by", "S", 1 - min(values), 0.1)
        yield Entry("Fig. 1", name, None, "", values)
    for gain, found in extremes.items():
        for j, name in enumerate(("least", "largest")):
            yield Entry(
                "Fig. 1",
                f"gain {gain:g}, {name} eigenvalue",
                KNOWN[gain][j],
                "V",
                np.array(found)[:, j],
            )


if __name__ == "__main__":
    main(experiment, SOURCE)
