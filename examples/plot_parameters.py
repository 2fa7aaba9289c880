"""
Choice of C and gamma, and probabilities
========================================

`SVCCV` scores every C and gamma on held-out rows, with kernel values that all folds and all values of C share. The
decision values of the same rows calibrate probabilities: the second figure compares the probabilities of new points
with the frequency of the positive class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_moons

import mercer as mc
from mercer.plot import ParameterGridDisplay

X, y = make_moons(600, noise=0.3, random_state=0)
new, new_y = make_moons(4000, noise=0.3, random_state=1)
search = mc.SVCCV(Cs=np.logspace(-2, 3, 11), gammas=7, calibration="sigmoid").fit(X, y)

display = ParameterGridDisplay.from_estimator(search)
display.ax_.set_title(
    f"held-out rows {search.best_score_:.3f}, new points {search.score(new, new_y):.3f}"
)
plt.show()

# %%
# The accuracy of the best pair on held-out rows is the largest of 77, and therefore a slightly optimistic estimate.
# Probabilities:

figure, panel = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
CalibrationDisplay.from_predictions(
    new_y, search.predict_proba(new)[:, 1], n_bins=10, strategy="quantile", ax=panel
)
panel.set(xlabel="probability", ylabel="frequency of the positive class")
plt.show()
