"""Kernel ridge regression beside support vector regression, each with a search."""

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

rng = np.random.RandomState(42)
X = 5 * rng.rand(200, 1)
y = np.sin(X).ravel()
y[::5] += 3 * (0.5 - rng.rand(X.shape[0] // 5))
grid = np.linspace(0, 5, 300)[:, None]
widths = np.logspace(-2, 2, 3)
svr = GridSearchCV(SVR(kernel="rbf", gamma=0.1), {"C": [1, 10, 100], "gamma": widths}).fit(
    X[:100], y[:100]
)
kr = GridSearchCV(
    KernelRidge(kernel="rbf", gamma=0.1), {"alpha": [1, 0.1, 1e-2], "gamma": widths}
).fit(X, y)
values = np.r_[svr.predict(grid), kr.predict(grid), kr.best_params_["alpha"]]
