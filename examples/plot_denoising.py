"""
Denoising digits
================

Noisy digits are projected onto the kernel principal components of clean digits. The projection is a vector of the
feature space. Its pre-image, the point with the nearest feature vector, is the denoised digit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import mercer as mc
from mercer.plot import ImageGridDisplay

X = load_digits().data / 16
train, test = X[:1000], X[1000:]
noisy = test + np.random.default_rng(0).normal(0, 0.25, test.shape)

pca = mc.KernelPCA(256, kernel=mc.Gaussian(0.2)).fit(train)
ImageGridDisplay.from_estimator(pca, noisy, clean=test)
plt.show()

# %%
# Convergence of the searches, and squared distances in feature space between projections and pre-images:

found = mc.preimage(pca.reconstruct(pca.transform(noisy)), start=noisy)
print(f"{found.converged.mean():.0%} converged, mean squared distance {found.sqdist.mean():.3f}")
