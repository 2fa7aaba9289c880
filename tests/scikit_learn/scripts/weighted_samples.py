"""Weights of samples move the boundary."""

import numpy as np
from sklearn.svm import SVC

rng = np.random.RandomState(0)
X = np.r_[rng.randn(10, 2) + [1, 1], rng.randn(10, 2)]
y = np.r_[np.ones(10), -np.ones(10)]
weights = np.abs(rng.randn(20))
weights[15:] *= 5
weights[9] *= 15
grid = np.stack(np.meshgrid(np.linspace(-4, 5, 50), np.linspace(-4, 5, 50)), axis=-1).reshape(-1, 2)
weighted = SVC().fit(X, y, sample_weight=weights)
labels = weighted.predict(grid)
values = np.r_[weighted.decision_function(grid), SVC(gamma=1).fit(X, y).decision_function(grid)]
