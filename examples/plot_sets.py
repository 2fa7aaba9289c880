"""
Clouds of points as single points
=================================

Each object is a bag of vectors, a sample of a distribution. ``MeanMap`` compares two bags by the inner product of their
means in the feature space of a Gaussian. All bags have the same mean and variance; kernel PCA orders them by shape.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc

rng = np.random.default_rng(0)
weights = np.linspace(0, 0.98, 40)
# two clusters at distance w in a random direction, with the variance 1 in total
bags = []
for w in weights:
    signs = rng.choice([-1.0, 1.0], size=(rng.integers(60, 120), 1))
    bags.append(
        w * signs * np.array([1.0, 1.0]) / np.sqrt(2) + np.sqrt(1 - w**2 / 2) * rng.normal(size=(len(signs), 2))
    )

kernel = mc.sets.MeanMap(mc.Gaussian(1.0))
scores = mc.KernelPCA(1, kernel=kernel).fit_transform(bags)[:, 0]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for bag, colour in zip([bags[0], bags[-1]], ("C0", "C1"), strict=True):
    left.scatter(*bag.T, s=8, color=colour)
left.set(title="two of the 40 bags", aspect="equal")
right.scatter(weights, scores, s=12)
right.set(xlabel="distance of the clusters", ylabel="first component of the bags")
plt.show()
