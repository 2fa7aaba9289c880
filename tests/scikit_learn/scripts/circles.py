"""Kernel components of two circles, and points of given scores."""

import numpy as np
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import train_test_split

X, y = make_circles(n_samples=500, factor=0.3, noise=0.05, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
pca = KernelPCA(n_components=None, kernel="rbf", gamma=10, fit_inverse_transform=True, alpha=0.1)
scores = pca.fit(X_train).transform(X_test)
values = np.r_[
    np.abs(scores[:, :4]).ravel(), pca.eigenvalues_[:10], pca.inverse_transform(scores).ravel()
]
