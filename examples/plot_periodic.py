"""
A periodic kernel for a daily pattern
=====================================

`Periodic` compares times modulo a period. The product with a wide Gaussian kernel, for the slow trend, continues the
pattern into the next days; the prediction of a Gaussian kernel alone returns to 0 after the last point. The errors are
those on the last two days, which the fits do not use.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc

rng = np.random.default_rng(0)
hours = np.arange(0.0, 168.0, 1.5)
load = np.sin(2 * np.pi * hours / 24) + 0.6 * np.cos(4 * np.pi * hours / 24) + hours / 150
load += rng.normal(0, 0.15, len(hours))
seen = hours < 120
X = hours[:, None]

models = {
    "Gaussian": mc.Gaussian(0.02),
    "Periodic * Gaussian": mc.Periodic(24.0) * mc.Gaussian(1e-5),
}
figure, panel = plt.subplots(figsize=(6, 3.8), layout="constrained")
panel.plot(hours[seen], load[seen], ".", color="black", label="training")
panel.plot(hours[~seen], load[~seen], ".", color="0.6", label="test")
for (name, kernel), style in zip(models.items(), [":", "-"], strict=True):
    model = mc.KernelRidge(0.02, kernel=kernel).fit(X[seen], load[seen])
    error = np.sqrt(np.mean((model.predict(X[~seen]) - load[~seen]) ** 2))
    panel.plot(hours, model.predict(X), style, label=f"{name}: error {error:.2f}")
panel.set(xlabel="hour", ylabel="load", ylim=(-2.2, 4))
panel.legend(ncols=2, loc="upper left")
plt.show()
