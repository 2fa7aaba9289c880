"""
A support vector machine with a tenth of its vectors
====================================================

`compress` replaces the support vectors of a fitted model by a few constructed vectors. The model may come from Mercer,
scikit-learn or LIBSVM. With a tenth of the vectors the accuracy on held-out digits is nearly that of the full model.
The band is the range over three random states.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import mercer as mc
from mercer.plot import ReductionDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, train_size=700, random_state=0)

full = SVC(C=10.0, gamma=0.2).fit(X_train, y_train)  # scikit-learn's
sizes = (5, 15, 40)
small = [
    mc.compress(full, X_train, y_train, n_vectors=n, random_state=seed)
    for n in sizes
    for seed in range(3)
]
ReductionDisplay.from_estimators(small, X_test, y_test, full=full, name="compressed")
plt.title(f"error on test digits; the full model has {len(full.support_)} vectors")
plt.show()

# %%
# The report of a compressed model counts its vectors and its score on the given data:
print(small[3].report_)
print(
    f"on test digits: {full.score(X_test, y_test):.3f} before, {small[3].score(X_test, y_test):.3f} after"
)
