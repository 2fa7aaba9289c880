"""Exclusive or, by a nu machine."""

import numpy as np
from sklearn.svm import NuSVC

rng = np.random.RandomState(0)
X = rng.randn(300, 2)
y = np.logical_xor(X[:, 0] > 0, X[:, 1] > 0)
grid = np.stack(np.meshgrid(np.linspace(-3, 3, 60), np.linspace(-3, 3, 60)), axis=-1).reshape(-1, 2)
clf = NuSVC(gamma="auto").fit(X, y)
labels = clf.predict(grid)
values = clf.decision_function(grid)
