"""Classes of iris on a grid, by kernels of different shapes."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
X = X[:, :2]
grid = np.stack(np.meshgrid(np.linspace(4, 8, 40), np.linspace(2, 4.5, 40)), axis=-1).reshape(-1, 2)
models = (
    SVC(kernel="linear"),
    SVC(kernel="rbf", gamma=0.7),
    SVC(kernel="poly", degree=2, gamma="auto"),
)
labels = np.concatenate([model.fit(X, y).predict(grid) for model in models])
