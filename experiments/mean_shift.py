"""The fixed-point iteration for pre-images read as Gaussian mean shift.

For the mean of mapped points the iteration moves a point to the weighted mean of the data, as mean shift does. With
labels as signs of the coefficients the points of the other class repel.

Run: python -m experiments.mean_shift
"""

import warnings

import numpy as np

import mercer as mc
from experiments._report import Picture, Statement, main, panels

SOURCE = "Schoelkopf et al., IEEE TNN 10 (1999), section IV-B"
KERNEL = mc.Gaussian(8.0)


def shifted(X, weights, start, steps):
    """Return the points after a number of mean shift steps, written out."""
    z = start.copy()
    for _ in range(steps):
        for j in range(len(z)):
            w = weights * np.exp(-KERNEL.gamma * np.sum((X - z[j]) ** 2, axis=1))
            z[j] = w @ X / w.sum()
    return z


def iterated(psi, start, steps):
    """Return the points after a number of steps of the library's iteration."""
    vectors = mc.Expansion(psi.kernel, psi.points, np.repeat(psi.coef, len(start), axis=1))
    method = mc.FixedPoint(max_iter=steps, tol=1e-14, restarts=0)
    with warnings.catch_warnings():
        # few steps do not converge, on purpose
        warnings.simplefilter("ignore")
        return mc.preimage(vectors, method, start=start).points


def sample(rng):
    centres = np.array([[-0.6, -0.2], [0.0, 0.6], [0.6, 0.0]])
    return np.repeat(centres, 40, axis=0) + 0.15 * rng.standard_normal((120, 2)), np.repeat(
        [1.0, -1.0, 1.0], 40
    )


def paths(X, weights, start):
    return np.stack([shifted(X, weights, start, steps) for steps in (0, 1, 2, 4, 8, 16, 32)])


def picture(X, signs, start):
    figure, axes = panels(1, 2, 2.7, sharex=True, sharey=True)
    for ax, weights, title in zip(
        axes, (np.ones(len(X)), signs), ("mean", "difference of classes"), strict=True
    ):
        ax.scatter(*X.T, c=weights, cmap="coolwarm", s=4, vmin=-1, vmax=1)
        for path in paths(X, weights, start).transpose(1, 0, 2):
            ax.plot(*path.T, ".-", color="0.5", linewidth=0.7, markersize=3)
            ax.plot(*path[-1], "x", color="C2")
        ax.set(title=title, xlim=(-1.3, 1.3), ylim=(-0.9, 1.3))
    return figure


def experiment(_quick):
    X, signs = sample(np.random.default_rng(0))
    # starts at positive points, at which the sum of signed weights is positive
    start = X[signs > 0][::10]
    mean = mc.mean(mc.features(KERNEL, X))
    # in between the library takes longer steps where these raise the objective more
    differences = {
        steps: np.abs(
            iterated(mean, start, steps) - shifted(X, np.ones(len(X)), start, steps)
        ).max()
        for steps in (1, 500)
    }
    yield (
        f"The points after one step of the iteration for the mean of mapped points differ by {differences[1]:.0e} from "
        f"those of Gaussian mean shift, and its limits by {differences[500]:.0e}."
    )
    yield Picture(
        lambda: picture(X, signs, start),
        "Paths to the modes (crosses); with signs the blue class repels.",
    )
    for steps, difference in differences.items():
        yield Statement(
            "Section IV-B", f"{steps} steps: difference from mean shift", "S", difference, 1e-8
        )
    other = X[signs < 0]
    ends = [shifted(X, weights, start, 200) for weights in (np.ones(len(X)), signs)]
    near, far = (np.linalg.norm(end[:, None] - other, axis=2).min(axis=1).mean() for end in ends)
    yield Statement(
        "Section IV-B", "with signs modes are nearer to the other class", "S", far <= near, 0
    )


if __name__ == "__main__":
    main(experiment, SOURCE)
