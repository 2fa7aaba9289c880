"""
Kernel principal components over the plane
==========================================

Three clusters and the scores of the first eight kernel principal components. The first two components separate the
clusters, the others split each cluster. After figure 4 of Schoelkopf, Smola and Mueller (1998).
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc
from mercer.plot import KernelPCAContoursDisplay

rng = np.random.default_rng(0)
centres = [(-0.5, -0.2), (0.0, 0.6), (0.5, 0.0)]
X = np.concatenate([rng.normal(centre, 0.1, (30, 2)) for centre in centres])

pca = mc.KernelPCA(8, kernel=mc.Gaussian(10.0)).fit(X)
KernelPCAContoursDisplay.from_estimator(pca, X, region=(-1.0, 1.0, -0.5, 1.0))
plt.show()

# %%
# tanh(<x, z> + 1) is not positive semidefinite. Kernel PCA uses the positive part of its spectrum, and warns by how
# much the matrix is indefinite; two components separate the clusters all the same.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    indefinite = mc.KernelPCA(2, kernel=mc.Sigmoid(1.0, coef0=1.0)).fit(X)
print(caught[0].message)
KernelPCAContoursDisplay.from_estimator(indefinite, X, region=(-1.0, 1.0, -0.5, 1.0))
plt.show()
