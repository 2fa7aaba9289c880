"""
Choice of C and gamma, and probabilities
========================================

`SVCCV` scores every C and gamma on held-out rows. The decision values of these rows also calibrate probabilities. This
example shows the scores, the probabilities in the plane, and how often the positive class occurs where a probability
is given.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_moons

import mercer as mc

X, y = make_moons(600, noise=0.3, random_state=0)
new, new_y = make_moons(4000, noise=0.3, random_state=1)
search = mc.SVCCV(Cs=np.logspace(-2, 3, 11), gammas=7, calibration="isotonic").fit(X, y)

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
results = search.cv_results_
shape = len(search.Cs_), -1
scores = left.contourf(
    *(np.reshape(results[name], shape) for name in ("param_C", "param_gamma", "mean_test_score")), 12
)
left.plot(search.best_params_["C"], search.best_params_["gamma"], "r*")
left.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma", title="mean score of held-out rows")
fig.colorbar(scores, ax=left)

grid = np.meshgrid(np.linspace(-2, 3, 80), np.linspace(-1.5, 2, 80))
points = np.column_stack([axis.ravel() for axis in grid])
middle.contourf(
    *grid, search.predict_proba(points)[:, 1].reshape(80, 80), np.linspace(0, 1, 11), cmap="RdBu", alpha=0.6
)
middle.scatter(*X.T, c=y, s=4, cmap="RdBu")
middle.set_title("probability of the positive class")

CalibrationDisplay.from_predictions(new_y, search.predict_proba(new)[:, 1], n_bins=10, ax=right, name="SVCCV")
right.set_title("new points")
plt.show()

# %%
# The best parameters, their score on held-out rows, and that on new points:
print(search.best_params_, search.best_score_, search.score(new, new_y))
