"""
The geometry of feature space
=============================

A kernel maps input space to a curved surface. Each ellipse shows the steps of equal length in feature space; the
images show volume element and curvature. In the second figure, the kernel of a fitted SVC is magnified near the
decision boundary.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import mercer as mc
from mercer.plot import MetricDisplay, SurfaceDisplay

plane = (-1.5, 1.5, -1.5, 1.5)
kernel = mc.Polynomial(3, coef0=0.5)

figure = plt.figure(figsize=(6.4, 5.6), layout="constrained")
panels = list(figure.subplot_mosaic("aa;bc").values())
MetricDisplay.from_kernel(kernel, plane, n_grid=11, ax=panels[0])
SurfaceDisplay.from_kernel(kernel, plane, ax=panels[1:])
path = mc.manifold.geodesic_between(kernel, np.array([-1.2, -0.6]), np.array([1.2, -0.6]))
panels[0].plot(*path.points.T, color="C1")
print(
    f"geodesic {path.length:.3f}, straight line {mc.manifold.length(kernel, path.points[[0, -1]]):.3f}"
)

# %%
# The method of Amari and Wu multiplies a Gaussian kernel by bumps at the support vectors. The surface of the Gaussian
# kernel is flat; after the change the volume element is large near the boundary, where ellipses are small.

X, y = make_moons(200, noise=0.15, random_state=0)
svc = mc.SVC(kernel=mc.Gaussian(1.0), C=10.0).fit(X, y)
magnified = mc.manifold.magnify(svc, width=0.5)

region = (-1.4, 2.4, -1.0, 1.4)
figure = plt.figure(figsize=(6.4, 5), layout="constrained")
panels = list(figure.subplot_mosaic("aa;bc").values())
MetricDisplay.from_kernel(magnified, region, n_grid=15, ax=panels[0])
SurfaceDisplay.from_kernel(magnified, region, points=X, ax=panels[1:])
grid = np.meshgrid(np.linspace(*region[:2], 80), np.linspace(*region[2:], 80))
values = svc.decision_function(np.column_stack([axis.ravel() for axis in grid])).reshape(80, 80)
for panel in panels:
    panel.contour(*grid, values, levels=[0.0], colors="C3")
plt.show()
