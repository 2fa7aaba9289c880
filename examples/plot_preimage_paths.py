"""
Paths to pre-images
===================

A projection onto kernel principal components is a vector of the feature space; `preimage` searches for the point whose
feature vector is nearest. Each line runs from a noisy point of a circle to the point found, with a dot for each
iteration. No step leads away from the vector, and the distance to the circle falls.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc
from mercer.plot import PreImagePathsDisplay

rng = np.random.default_rng(0)
angles = rng.uniform(0, 2 * np.pi, 300)
circle = np.column_stack([np.cos(angles), np.sin(angles)])
X = circle[:200] + rng.normal(0, 0.05, (200, 2))
noisy = circle[200:240] + rng.normal(0, 0.25, (40, 2))

pca = mc.KernelPCA(6, kernel=mc.Gaussian(1.0)).fit(X)
display = PreImagePathsDisplay.from_estimator(pca, noisy, points=X)
before, after = (np.abs(np.linalg.norm(Z, axis=1) - 1).mean() for Z in (noisy, display.paths[-1]))
display.ax_.set_title(f"mean distance to the circle: {before:.2f}, then {after:.2f}")
plt.show()
