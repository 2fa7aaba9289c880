"""
Regression with uncertainty
===========================

`KernelRidge` is the mean of a Gaussian process. ``tune="marginal_likelihood"`` chooses bandwidth and ridge, and
``predict(X, return_std=True)`` returns the standard deviations of the function; the ridge is the variance of the noise.
The band should contain 95 % of new points: here the progression of diabetes against the body mass index.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import mercer as mc

data = load_diabetes(scaled=False)
bmi, y = data.data[:, 2:3], data.target
bmi_train, bmi_test, y_train, y_test = train_test_split(bmi, y, random_state=0)
mean, scale = y_train.mean(), y_train.std()

kernel = 1.0 * mc.Gaussian("median")
model = mc.KernelRidge(0.5, kernel=kernel, tune="marginal_likelihood").fit(
    bmi_train, (y_train - mean) / scale
)


def predict(points):
    """Return predictions and half the width of the band."""
    values, deviations = model.predict(points, return_std=True)
    return mean + scale * values, 1.96 * scale * np.sqrt(deviations**2 + model.alpha_)


grid = np.linspace(bmi.min() - 5, bmi.max() + 10, 200)[:, None]
values, half = predict(grid)
at_test, half_at_test = predict(bmi_test)
share = np.mean(np.abs(y_test - at_test) <= half_at_test)

figure, panel = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
panel.fill_between(grid[:, 0], values - half, values + half, alpha=0.25, label="95 % band")
panel.plot(grid, values, label="prediction")
panel.plot(bmi_test, y_test, ".", color="black", label=f"test points: {share:.1%} in the band")
panel.set(xlabel="body mass index", ylabel="progression of diabetes", ylim=(-150, 420))
panel.legend(loc="lower right")
plt.show()
