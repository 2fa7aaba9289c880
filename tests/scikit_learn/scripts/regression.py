"""Regression of a sine by three kernels."""

import numpy as np
from sklearn.svm import SVR

X = np.sort(5 * np.random.RandomState(0).rand(40, 1), axis=0)
y = np.sin(X).ravel()
y[::5] += 3 * (0.5 - np.random.RandomState(1).rand(8))
models = (
    SVR(kernel="rbf", C=100, gamma=0.1, epsilon=0.1),
    SVR(kernel="linear", C=100, gamma="auto"),
    SVR(kernel="poly", C=10, gamma="auto", degree=3, epsilon=0.1, coef0=1),
)
values = np.concatenate([model.fit(X, y).predict(X) for model in models])
