"""
Fisher discriminants in feature space
=====================================

`KernelFisher` finds the directions with the largest scatter between classes relative to the scatter within classes.
Two kernel discriminants separate held-out digits of three classes better than two linear ones.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

import mercer as mc

X, y = load_digits(return_X_y=True)
chosen = (y == 1) | (y == 8) | (y == 9)
X_train, X_test, y_train, y_test = train_test_split(X[chosen] / 16, y[chosen], random_state=0)
models = {
    "linear": LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.01),
    "kernel": mc.KernelFisher(2, kernel=mc.Gaussian(0.1), mu=1e-3),
}

figure, panels = plt.subplots(2, 1, figsize=(5, 6.4), layout="constrained")
for panel, (name, model) in zip(panels, models.items(), strict=True):
    scores = model.fit(X_train, y_train).transform(X_test)[:, :2]
    for digit, marker in zip((1, 8, 9), "o^s", strict=True):
        panel.plot(*scores[y_test == digit].T, marker, markersize=4, label=f"digit {digit}")
    panel.set_title(f"{name}: accuracy {model.score(X_test, y_test):.3f}")
panels[0].legend()
plt.show()
