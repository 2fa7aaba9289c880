"""The surface of a polynomial kernel, vectors with and without pre-image, and statements on curvature.

The map of (x.z)^2 on the plane fills the cone (x1^2, sqrt(2) x1 x2, x2^2): points of feature space on the cone have a
pre-image, others, such as the mean of two mapped points, have none. The metric of a kernel gives the curvature of its
surface: zero for degree 1, zero for homogeneous polynomials in two dimensions, not zero for inhomogeneous ones, and
zero for Gaussian kernels.

Run: python -m experiments.surface
"""

import numpy as np

import mercer as mc
from experiments._report import Picture, Statement, main

SOURCE = "Schoelkopf et al., IEEE TNN 10 (1999), Fig. 1 and section II-E"
CONE = mc.Polynomial(2, 1.0, 0.0)


def residual(psi):
    """Return the distance of a vector to the nearest mapped point, relative to its length."""
    z = mc.preimage(psi, "gradient", start=np.array([[0.7, 0.4]])).points
    return float(np.sqrt(max(mc.sqdist(psi, mc.features(psi.kernel, z))[0, 0], 0)) / psi.norms()[0])


def picture():
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(5, 4), layout="constrained")
    ax = figure.add_subplot(projection="3d")
    radius, angle = np.meshgrid(np.linspace(0, 1, 15), np.linspace(0, np.pi, 40))
    points = np.column_stack([(radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel()])
    surface = mc.maps.unordered_monomials(points, 2).T.reshape(3, *radius.shape)
    ax.plot_wireframe(*surface, linewidth=0.4)
    ends = mc.maps.unordered_monomials(np.array([[0.9, 0.1], [-0.3, 0.8]]), 2)
    ax.plot(*ends.T, "o-", color="C1")
    ax.scatter(*ends.mean(axis=0), color="C3", s=30)
    ax.view_init(25, -50)
    return figure


def experiment(_quick):
    rng = np.random.default_rng(0)
    X, plane = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    one, two = (
        mc.features(CONE, np.array([[0.9, 0.1]])),
        mc.features(CONE, np.array([[0.9, 0.1], [-0.3, 0.8]])),
    )
    with_image, without = residual(one), residual(mc.mean(two))
    yield (
        f"The nearest mapped point is at the relative distance {with_image:.0e} from a mapped point, and {without:.2f} "
        "from the mean of two."
    )
    caption = "Surface of the kernel (x.z)^2; two mapped points (orange) and their mean (red), off the surface."
    yield Picture(picture, caption)
    yield Statement("Fig. 1", "distance of a mapped point to the surface", "S", with_image, 1e-6)
    yield Statement(
        "Fig. 1",
        "mean of two mapped points: distance to the surface below a tenth",
        "S",
        without < 0.1,
        0,
    )
    curvature = mc.manifold.scalar_curvature
    for name, kernel, points in (
        ("degree 1", mc.Polynomial(1, 1.0, 1.0), X),
        ("homogeneous, degree 2, two dimensions", mc.Polynomial(2, 1.0, 0.0), plane),
        ("homogeneous, degree 3, two dimensions", mc.Polynomial(3, 1.0, 0.0), plane),
        ("Gaussian", mc.Gaussian(0.5), X),
    ):
        yield Statement(
            "Section II-E",
            f"{name}: largest curvature",
            "S",
            np.abs(curvature(kernel, points)).max(),
            1e-8,
        )
    for degree in (2, 3, 4):
        least = np.abs(curvature(mc.Polynomial(degree, 1.0, 1.0), plane)).min()
        yield Statement(
            "Section II-E",
            f"inhomogeneous, degree {degree}: points without curvature",
            "S",
            least == 0,
            0,
        )
    for degree in (2, 3):
        # the printed tensor gives R = -(N - 1)(p - 1) / (p u^p) ((N - 2) + 2 c / (c + p r^2)), u = r^2 + c, at N = 3
        square = (X**2).sum(axis=1)
        known = (
            -2 * (degree - 1) / (degree * (square + 1) ** degree) * (1 + 2 / (1 + degree * square))
        )
        ours = curvature(mc.Polynomial(degree, 1.0, 1.0), X)
        difference = np.abs(ours / known - 1).max()
        yield Statement(
            "Section II-E",
            f"curvature of degree {degree} by the tensor of the text",
            "S",
            difference,
            1e-8,
        )
    difference = np.abs(mc.manifold.metric(mc.Gaussian(0.5), X) - np.eye(3)).max()
    yield Statement(
        "Section II-E", "metric of a Gaussian kernel is flat", "M-hi", difference, 1e-10
    )


if __name__ == "__main__":
    main(experiment, SOURCE)
