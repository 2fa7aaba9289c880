"""
Error bounds and the true error
===============================

Error bounds and leave-one-out estimates of a support vector machine on two moons, all from one fit, compared with the
true leave-one-out error. The second figure shows the eigenvalues of the kernel on these points and the box that
contains the points in feature space.

The span rule needs no second fit, so a search over widths fits each candidate once.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

import mercer as mc
from mercer import capacity
from mercer.plot import BoundsDisplay, SpectrumDisplay

X, y = make_moons(400, noise=0.2, random_state=0)
grid = {"kernel__gamma": [0.1, 0.3, 1.0, 3.0, 10.0], "C": [1.0, 10.0]}
search = GridSearchCV(
    mc.SVC(), grid, scoring=capacity.span_score, cv=capacity.Resubstitution()
).fit(X, y)

report = capacity.report(search.best_estimator_, X, y)
print(report)
BoundsDisplay.from_report(report)

# %%
# Eigenvalues decrease exponentially: the box is flat in all but a few directions. The dashed box follows from a bound
# on the eigenfunctions, if the largest observed value is this bound.
SpectrumDisplay.from_kernel(search.best_estimator_.kernel_, X, 40)
plt.show()
