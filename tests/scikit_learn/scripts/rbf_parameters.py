"""A grid over C and gamma."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
cv = StratifiedShuffleSplit(n_splits=3, test_size=0.2, random_state=42)
grid = GridSearchCV(SVC(), {"C": np.logspace(-1, 3, 4), "gamma": np.logspace(-3, 1, 4)}, cv=cv).fit(
    X, y
)
labels = grid.predict(X)
values = np.r_[
    grid.best_params_["C"], grid.best_params_["gamma"], grid.cv_results_["mean_test_score"]
]
