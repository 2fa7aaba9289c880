"""The hyperplane of largest margin between two blobs, and its support vectors."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

X, y = make_blobs(n_samples=40, centers=2, random_state=6)
clf = SVC(kernel="linear", C=1000).fit(X, y)
labels = np.r_[clf.support_, clf.n_support_]
values = np.r_[clf.coef_.ravel(), clf.intercept_, clf.support_vectors_.ravel()]
