"""Digits without noise, by the inverse of kernel components."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA

X = load_digits().data[:400] / 16
noisy = X + 0.25 * np.random.RandomState(0).normal(size=X.shape)
pca = KernelPCA(
    n_components=40,
    kernel="rbf",
    gamma=1e-2,
    fit_inverse_transform=True,
    alpha=5e-3,
    random_state=42,
)
values = pca.fit(noisy).inverse_transform(pca.transform(noisy)).ravel()
