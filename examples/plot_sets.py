"""
Clouds of points as single points
=================================

Each object is a bag of vectors, a sample of a distribution. ``MeanMap`` compares two bags by the inner product of their
means in the feature space of a Gaussian. All bags are from distributions of one mean and covariance; the first
component of kernel PCA grows with the distance of two clusters.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc

rng = np.random.default_rng(0)
shifts = np.linspace(0.5, 0.98, 40)
bags = []
for shift in shifts:
    bag = rng.normal(size=(rng.integers(100, 200), 2))
    # two clusters at distance 2 shift, with variance 1 in total
    bag[:, 0] = shift * rng.choice([-1.0, 1.0], size=len(bag)) + np.sqrt(1 - shift**2) * bag[:, 0]
    bags.append(bag)

kernel = mc.sets.MeanMap(mc.Gaussian(1.0))
scores = mc.KernelPCA(1, kernel=kernel).fit_transform(bags)[:, 0]

figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.2, 7), layout="constrained")
for i in (0, -1):
    top.scatter(*bags[i].T, s=8, label=f"distance {2 * shifts[i]:.1f}")
top.set(title="two of the 40 bags", aspect="equal", ylim=(-6, 3))
top.legend(loc="lower left")
bottom.scatter(2 * shifts, scores, s=12)
bottom.set(xlabel="distance of the clusters", ylabel="first component of the bags")
plt.show()
