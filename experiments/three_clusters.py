"""Three clusters in the plane: kernel principal components, and denoising by pre-images.

Clusters with standard deviation 0.1, 30 points each; kernel exp(-|x - z|^2 / 0.1). Components 1 and 2 separate the
clusters, 3 to 5 split each into halves, 6 to 8 split it again. Noisy points are projected onto 1 to 8 components and
mapped to the plane by fixed-point pre-images; beside it one component of linear PCA.

Run: python -m experiments.three_clusters [--quick]
"""

import numpy as np
from sklearn.decomposition import PCA

import mercer as mc
from experiments._report import Entry, Picture, Statement, main, panels

SOURCE = "Schoelkopf et al., IEEE TNN 10 (1999), Figs. 2 to 4; Neural Computation 10 (1998), Fig. 4"
CENTRES = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
DEVIATION, EACH, COMPONENTS = 0.1, 30, range(1, 9)


def clusters(rng, each=EACH):
    """Return points of the three clusters and the centre of each."""
    centres = np.repeat(CENTRES, each, axis=0)
    return centres + DEVIATION * rng.standard_normal(centres.shape), centres


def denoised(X, noisy, components):
    """Return pre-images of the projections of noisy points onto kernel principal components."""
    kpca = mc.KernelPCA(components, kernel=mc.Gaussian(10.0), preimage="fixed_point").fit(X)
    return kpca.denoise(noisy)


def error(points, centres):
    """Return the mean squared distance to the centres."""
    return float(np.mean(np.sum((points - centres) ** 2, axis=1)))


def shares_between(scores, labels):
    """Return the share of the variance of each component that is between the clusters."""
    means = np.array([scores[labels == j].mean(axis=0) for j in range(3)])
    return means[labels].var(axis=0) / scores.var(axis=0)


def moves(X, noisy, results):
    figure, axes = panels(3, 3, 4.6, sharex=True, sharey=True)
    for ax, (title, moved) in zip(axes.flat, results.items(), strict=True):
        ax.scatter(*X.T, s=3, color="0.6")
        ax.plot(*np.stack([noisy, moved], axis=1).transpose(2, 1, 0), color="C0", linewidth=0.6)
        ax.scatter(*moved.T, s=5, color="C3", zorder=3)
        ax.set_title(title)
        ax.set_aspect("equal")
    return figure


def contours(X):
    figure, axes = panels(2, 4, 3.0, sharex=True, sharey=True)
    kpca = mc.KernelPCA(8, kernel=mc.Gaussian(10.0)).fit(X)
    grid = np.meshgrid(np.linspace(-1, 1, 60), np.linspace(-0.5, 1, 45))
    scores = kpca.transform(np.column_stack([axis.ravel() for axis in grid]))
    for j, ax in enumerate(axes.flat):
        ax.contour(*grid, scores[:, j].reshape(grid[0].shape), 8, linewidths=0.7)
        ax.scatter(*X.T, s=1, color="0.6")
        ax.set(title=f"component {j + 1}", xticks=[], yticks=[])
    return figure


def experiment(quick):
    errors, between, linear_errors = [], [], []
    for seed in range(3 if quick else 10):
        rng = np.random.default_rng(seed)
        X, _ = clusters(rng)
        noisy, centres = clusters(rng, 20)
        linear = PCA(1).fit(X)
        flat = linear.inverse_transform(linear.transform(noisy))
        results = {m: denoised(X, noisy, m) for m in COMPONENTS}
        errors.append([error(moved, centres) for moved in results.values()])
        linear_errors.append(error(flat, centres))
        scores = mc.KernelPCA(8, kernel=mc.Gaussian(10.0)).fit(X).transform(X)
        between.append(shares_between(scores, np.repeat(np.arange(3), EACH)))
    errors, between = np.array(errors), np.array(between)
    yield (
        f"Mean squared distance of denoised points to the cluster centres: {errors[:, 1].mean():.4f} with two kernel "
        f"components, {np.mean(linear_errors):.3f} with one linear component."
    )
    titles = {"linear PCA, 1": flat} | {
        f"{m} component{'s' * (m > 1)}": moved for m, moved in results.items()
    }
    yield Picture(
        lambda: moves(X, noisy, titles), "Noisy points (line start) and their pre-images (red)."
    )
    yield Picture(lambda: contours(X), "Values of the first eight components.")
    for m, ours in zip(COMPONENTS, errors.T, strict=True):
        yield Entry("Figs. 2 to 4", f"mean squared distance, {m} components", None, "", ours)
    yield Entry("Figs. 2 to 4", "mean squared distance, linear PCA", None, "", linear_errors)
    # shares of the variance: about 1 between clusters for the first two components, about 0 for the others
    first, others = 1 - between[:, :2].min(), between[:, 2:].max()
    yield Statement(
        "Fig. 4 of 1998", "components 1 and 2: variance within clusters", "S", first, 0.1
    )
    yield Statement(
        "Fig. 4 of 1998", "components 3 to 8: variance between clusters", "S", others, 0.1
    )


if __name__ == "__main__":
    main(experiment, SOURCE)
