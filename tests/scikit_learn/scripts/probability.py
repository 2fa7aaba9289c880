"""Curves of five folds, probabilities, and calibration."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :6] / X[:, :6].max(axis=0)
folds = list(StratifiedKFold(n_splits=3).split(X, y))
curves = [
    roc_auc_score(y[test], SVC().fit(X[train], y[train]).decision_function(X[test]))
    for train, test in folds
]
own = SVC(probability=True, random_state=0).fit(X[:200], y[:200]).predict_proba(X)
calibrated = CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y).predict_proba(X)
bag = BaggingClassifier(SVC(C=10), n_estimators=4, random_state=0).fit(X, y)
labels = np.r_[bag.predict(X), calibrated.argmax(axis=1)]
values = np.r_[curves, own.ravel()]
