"""Margins for two values of C."""

import numpy as np
from sklearn.svm import SVC

rng = np.random.RandomState(0)
X = np.r_[rng.randn(20, 2) - [2, 2], rng.randn(20, 2) + [2, 2]]
y = [0] * 20 + [1] * 20
models = [SVC(kernel="linear", C=C).fit(X, y) for C in (1, 0.05)]
values = np.array([1 / np.sqrt(np.sum(clf.coef_**2)) for clf in models])
labels = np.concatenate([clf.support_ for clf in models])
