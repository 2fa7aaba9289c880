"""A hyperplane with and without weights of classes."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

X, y = make_blobs([1000, 100], centers=[[0, 0], [2, 2]], cluster_std=[1.5, 0.5], random_state=0)
clf = SVC(kernel="linear", C=1.0).fit(X, y)
weighted = SVC(kernel="linear", class_weight={1: 10}).fit(X, y)
balanced = SVC(class_weight="balanced").fit(X, y)
labels = np.r_[clf.predict(X), weighted.predict(X), balanced.predict(X)]
values = np.r_[
    clf.coef_.ravel(), weighted.coef_.ravel(), weighted.class_weight_, balanced.class_weight_
]
