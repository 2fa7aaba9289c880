"""Novelties by a one-class machine."""

import numpy as np
from sklearn.svm import OneClassSVM

rng = np.random.RandomState(0)
X = 0.3 * rng.randn(100, 2)
X_train = np.r_[X + 2, X - 2]
grid = np.stack(np.meshgrid(np.linspace(-5, 5, 80), np.linspace(-5, 5, 80)), axis=-1).reshape(-1, 2)
clf = OneClassSVM(nu=0.1, kernel="rbf", gamma=0.1).fit(X_train)
labels = clf.predict(grid)
values = np.r_[clf.decision_function(grid), clf.score_samples(grid), clf.offset_]
