"""
Spectral clustering of a kernel matrix
======================================

``Gram(kernel, X).dense()`` is a matrix of similarities, which every method of scikit-learn takes with
``affinity="precomputed"`` or ``metric="precomputed"``. With a suitable gamma, here about 3, spectral clustering agrees
better with the true digits than k-means; with others it does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import mercer as mc

X, y = load_digits(return_X_y=True)
X, y = X[:800] / 16, y[:800]
k_means = adjusted_rand_score(y, KMeans(10, n_init=10, random_state=0).fit_predict(X))

gammas = np.logspace(-1, 0.9, 8)
indices = []
for gamma in gammas:
    affinity = mc.Gram(mc.Gaussian(gamma), X).dense()
    model = SpectralClustering(
        10, affinity="precomputed", assign_labels="cluster_qr", random_state=0
    )
    indices.append(adjusted_rand_score(y, model.fit_predict(affinity)))

figure, panel = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
panel.semilogx(gammas, indices, "o-", label="spectral clustering")
panel.axhline(k_means, color="black", linestyle=":", label=f"k-means: {k_means:.2f}")
panel.set(xlabel="gamma", ylabel="adjusted Rand index", ylim=(0, 1))
panel.legend()
plt.show()
