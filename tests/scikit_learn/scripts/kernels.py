"""Four kernels on sixteen points; the sigmoid is indefinite."""

import numpy as np
from sklearn.svm import SVC

rng = np.random.RandomState(3)
X = rng.uniform(-2, 2, size=(16, 2))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
grid = np.stack(np.meshgrid(np.linspace(-3, 3, 30), np.linspace(-3, 3, 30)), axis=-1).reshape(-1, 2)
models = [SVC(kernel=kernel, gamma=2).fit(X, y) for kernel in ("linear", "poly", "rbf", "sigmoid")]
values = np.concatenate([clf.decision_function(grid) for clf in models[1:]])
