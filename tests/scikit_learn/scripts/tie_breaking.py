"""Ties between three classes."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

X, y = make_blobs(random_state=27)
grid = np.stack(np.meshgrid(np.linspace(-15, 15, 50), np.linspace(-15, 15, 50)), axis=-1).reshape(
    -1, 2
)
models = [
    SVC(kernel="linear", C=1, break_ties=ties, decision_function_shape="ovr")
    for ties in (False, True)
]
labels = np.concatenate([model.fit(X, y).predict(grid) for model in models])
