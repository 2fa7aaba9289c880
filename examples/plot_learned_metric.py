"""
A metric learned from targets
=============================

The target is a wave along one direction of ten. `learn_metric` fits a model several times: directions in which its
predictions change get long, the others short. From 100 points on, the same estimator needs far fewer points with the
learned metric. 50 points may be too few: with two of six random draws the fit to them misses the direction.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc

rng = np.random.default_rng(0)
direction = rng.normal(size=10)
direction /= np.linalg.norm(direction)


def sample(n):
    """Return n points of ten columns and their targets."""
    X = rng.normal(size=(n, 10))
    return X, np.sin(2 * X @ direction) + 0.1 * rng.normal(size=n)


X_test, y_test = sample(1000)
sizes = [50, 100, 200, 400, 800]
scores, metrics = {"one width": [], "learned metric": []}, []
for n in sizes:
    X, y = sample(n)
    model = mc.KernelRidge(1e-2, kernel=mc.Gaussian("scale"))
    learned = mc.learn_metric(model, X, y)
    scores["one width"].append(model.fit(X, y).score(X_test, y_test))
    scores["learned metric"].append(learned.fit(X, y).score(X_test, y_test))
    metrics.append(learned.kernel.A)

values, axes = np.linalg.eigh(metrics[-1] @ metrics[-1].T)
figure, panel = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
for (name, numbers), style in zip(scores.items(), ["s--", "o-"], strict=True):
    panel.semilogx(sizes, numbers, style, label=name)
panel.set_xticks(sizes, labels=map(str, sizes))
panel.minorticks_off()
panel.set(xlabel="training points", ylabel="R$^2$ on test points", ylim=(-0.1, 1))
panel.set_title(f"longest axis: cosine {abs(axes[:, -1] @ direction):.3f} with the true direction")
panel.legend()
plt.show()
