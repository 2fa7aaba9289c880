"""
Support vectors and constructed vectors
=======================================

Rings are the vectors of a model: above the support vectors of a fitted SVC, below the few that `compress` constructs.
Support vectors are training points near the boundary; constructed vectors lie where they describe the decision
function best. Dashed lines are the margins.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import mercer as mc
from mercer.plot import DecisionBoundaryDisplay

X, y = make_moons(300, noise=0.2, random_state=0)
X_test, y_test = make_moons(4000, noise=0.2, random_state=1)
full = mc.SVC(10.0, kernel=mc.Gaussian(1.0)).fit(X, y)
small = mc.compress(full, X, y, n_vectors=8, random_state=0)

figure, panels = plt.subplots(2, 1, figsize=(5, 7.2), layout="constrained")
for panel, model in zip(panels, (full, small), strict=True):
    DecisionBoundaryDisplay.from_estimator(model, X, y, region=(-1.6, 2.6, -1.2, 1.7), ax=panel)
    n = len(model.expansion_.points)
    panel.set_title(f"{n} vectors: accuracy {model.score(X_test, y_test):.3f} on new points")
plt.show()
