"""
Kernel k-means
==============

`Kernelized` runs any estimator of scikit-learn in feature space, so ``Kernelized(KMeans(...))`` is kernel k-means.
In the plane, k-means splits two rings by a line; in the feature space of a narrow Gaussian kernel it finds the rings.
The number is the adjusted Rand index, 1 for the true clusters and about 0 for random ones.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

import mercer as mc

X, rings = make_circles(400, factor=0.3, noise=0.06, random_state=0)
plain = KMeans(2, n_init=10, random_state=0)
models = {"KMeans": plain, "Kernelized(KMeans)": mc.Kernelized(plain, kernel=mc.Gaussian(2.0))}

figure, panels = plt.subplots(1, 2, figsize=(6, 3.2), sharey=True, layout="constrained")
for panel, (name, model) in zip(panels, models.items(), strict=True):
    clusters = model.fit(X).predict(X)
    for cluster, marker in enumerate("o^"):
        panel.plot(*X[clusters == cluster].T, marker, markersize=4)
    panel.set(
        title=f"{name}: {round(adjusted_rand_score(rings, clusters), 2) + 0.0:.2f}", aspect="equal"
    )
plt.show()
