"""
The vectors of a compressed classifier
======================================

The vectors that `compress` constructs are images too. Twenty of them replace more than five hundred support vectors of
a classifier of digits. They are not training digits: they lie where the decision values of ten classes need them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import mercer as mc
from mercer.plot import ImageGridDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
full = mc.SVC(10.0, kernel=mc.Gaussian(0.2)).fit(X_train, y_train)
small = mc.compress(full, X_train, y_train, n_vectors=20, random_state=0)

display = ImageGridDisplay.from_expansion(small.expansion_)
scores = full.score(X_test, y_test), small.score(X_test, y_test)
display.figure_.suptitle(
    f"accuracy with {len(full.support_)} vectors {scores[0]:.3f}, with 20 {scores[1]:.3f}"
)
plt.show()
