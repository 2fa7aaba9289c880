"""
Ridge regression on many rows
=============================

All n coefficients of kernel ridge regression need an n by n matrix. With m landmarks the model is a combination of m
kernel functions: n m kernel values instead of n squared, and the score on new points soon equals that of the full
model. `plan` says what a fit would need before it starts.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (6000, 4))
y = np.sin(4 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) + 0.1 * rng.normal(size=6000)
X_train, X_test, y_train, y_test = X[:3000], X[3000:], y[:3000], y[3000:]

model = mc.KernelRidge(1e-2, kernel=mc.Gaussian(1.0))
full = model.fit(X_train, y_train).score(X_test, y_test)
sizes = [10, 20, 50, 100, 200, 400]
figure, panel = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
for rule, style in {"uniform": "s--", "randomly_pivoted": "o-"}.items():
    scores = []
    for m in sizes:
        model = mc.KernelRidge(
            1e-2, kernel=mc.Gaussian(1.0), landmarks=m, rule=rule, random_state=0
        )
        scores.append(model.fit(X_train, y_train).score(X_test, y_test))
    panel.semilogx(sizes, scores, style, label=f"landmarks, {rule}")
panel.axhline(full, color="black", linestyle=":", label=f"all 3 000 points: {full:.3f}")
panel.set(xlabel="landmarks", ylabel="R$^2$ on 3 000 new points")
panel.legend()
plt.show()

# %%
print(mc.plan(mc.KernelRidge(1e-2, kernel=mc.Gaussian(1.0), landmarks=400), 1_000_000, 4))
