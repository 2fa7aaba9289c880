"""
Series that run at different speeds
===================================

Two kinds of series, with a wide or a narrow second wave, start at random times and run at random speeds. Global
alignment adds up all alignments of two series, so that the speed matters little; the Euclidean distance at equal times
does not separate the kinds.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc

rng = np.random.default_rng(0)
kinds = np.arange(40) % 2


def series(kind):
    """Return a series of 60 times with two waves."""
    t = np.linspace(0, 1, 60) ** rng.uniform(0.5, 2) + rng.uniform(-0.05, 0.05)
    second = np.exp(-(((t - 0.7) / (0.12 if kind else 0.04)) ** 2))
    return np.exp(-(((t - 0.3) / 0.06) ** 2)) + second + 0.03 * rng.normal(size=60)


X = np.array([series(kind) for kind in kinds])
kernels = {
    "Gaussian of equal times": mc.Gaussian("median"),
    "global alignment": mc.sequences.GlobalAlignment(width=0.5),
}
figure, axes = plt.subplots(3, 1, figsize=(5.2, 8.4), layout="constrained")
for x, kind in zip(X[:6], kinds, strict=False):
    axes[0].plot(x, color=f"C{kind}", linewidth=0.8)
axes[0].set(title="three series of each kind", xlabel="time")
for ax, (title, kernel) in zip(axes[1:], kernels.items(), strict=True):
    scores = mc.KernelPCA(2, kernel=kernel).fit_transform(X if "equal" in title else list(X))
    for kind, marker in enumerate("o^"):
        ax.plot(*scores[kinds == kind].T, marker, markersize=4)
    ax.set_title(f"kernel PCA, {title}")
plt.show()
