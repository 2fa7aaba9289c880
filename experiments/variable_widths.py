"""Gaussians of several widths in one reduced set.

A decision function and a density are approximated by n Gaussian functions of the width of the kernel, and by as many of
widths of their own, all in the feature space of the kernel. The error is |psi - psi'| / |psi|.

Run: python -m experiments.variable_widths [--quick]
"""

import numpy as np

import mercer as mc
from experiments._report import Entry, Goal, Picture, main, panels

SOURCE = "Schoelkopf et al., IEEE TNN 10 (1999), section VII (open problem)"
SIZES = (2, 4, 8, 16)


def vectors(rng):
    """Return a decision function of two spirals and the mean of points of different density."""
    t = np.sqrt(rng.uniform(0.02, 1, 300))
    labels = np.arange(300) % 2
    angle = 3.5 * t + np.pi * labels
    X = (t * np.stack([np.cos(angle), np.sin(angle)])).T + 0.03 * rng.standard_normal((300, 2))
    model = mc.SVC(10.0, kernel=mc.Gaussian(20.0)).fit(X, labels)
    points = np.concatenate(
        [0.15 * rng.standard_normal((100, 2)), [1.5, 0] + 0.6 * rng.standard_normal((200, 2))]
    )
    return {
        "decision function": model.expansion_,
        "density": mc.mean(mc.features(mc.Gaussian(8.0), points)),
    }


def picture(psi, answer):
    import matplotlib.pyplot as plt

    figure, ax = panels(1, 1, 3.6)
    ax.scatter(*psi.points.T, s=3, color="0.5")
    for x, y, width in answer.expansion.points:
        ax.add_patch(plt.Circle((x, y), width, fill=False, color="C1"))
    ax.set_aspect("equal")
    return figure


def experiment(quick):
    errors, worse = {}, 0.0
    for seed in range(2 if quick else 5):
        for name, psi in vectors(np.random.default_rng(seed)).items():
            for n in SIZES:
                one, several = (
                    mc.reduce(psi, n, method=each) for each in (mc.Refine(), mc.VariableWidths())
                )
                pair = one.relative_error[0], several.relative_error[0]
                errors.setdefault((name, n), []).append(pair)
                worse = max(worse, pair[1] - pair[0])
                if (name, n) == ("density", 8):
                    shown = psi, several
    ratio = {
        name: np.median([b / a for a, b in errors[name, 8]])
        for name in ("decision function", "density")
    }
    yield (
        f"Eight Gaussians of several widths have {ratio['density']:.2f} times the error of eight of one width for a "
        f"density, and {ratio['decision function']:.2f} times for a decision function."
    )
    yield Picture(
        lambda: picture(*shown), "Points of a density and the widths of eight Gaussian functions."
    )
    yield Goal("Section VII", "error with several widths above that with one", 1e-6, worse, "least")
    for (name, n), pairs in errors.items():
        for j, widths in enumerate(("one width", "several widths")):
            yield Entry(
                "Section VII",
                f"{name}, {n} functions of {widths}",
                None,
                "",
                np.array(pairs)[:, j],
                "least",
            )


if __name__ == "__main__":
    main(experiment, SOURCE)
