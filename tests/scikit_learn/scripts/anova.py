"""Selected columns before a machine, cross-validated."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectPercentile, f_classif
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
X = np.hstack((X, 2 * np.random.RandomState(0).random((X.shape[0], 36))))
steps = [
    ("anova", SelectPercentile(f_classif)),
    ("scaler", StandardScaler()),
    ("svc", SVC(gamma="auto")),
]
clf = Pipeline(steps)
values = np.concatenate(
    [cross_val_score(clf.set_params(anova__percentile=p), X, y) for p in (3, 10, 40, 100)]
)
