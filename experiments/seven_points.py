"""Seven points in the plane: Gram matrix, eigenvalues and coordinates in feature space.

Kernel exp(-|x - z|^2 / 10). The slides print the matrices and only draw the points; these points, found by a fit,
give every printed number. The empirical kernel map has the printed coordinates, up to the signs of the axes.

Run: python -m experiments.seven_points
"""

import numpy as np

import mercer as mc
from experiments._report import Picture, Statement, main, panels

SOURCE = "Poczos, Introduction to machine learning, kernel methods (slides), finite example"
POINTS = np.array(
    [[0.20782, -0.68771], [-0.11909, 0.71324], [-0.60076, -0.33976], [0.44429, 0.08418], [-0.22322, -0.25096],
     [-0.04245, 0.31526], [0.12753, -0.12563]]
)  # fmt: skip
GRAM = np.array(
    [[1.0000, 0.8131, 0.9254, 0.9369, 0.9630, 0.8987, 0.9683], [0.8131, 1.0000, 0.8745, 0.9312, 0.9102, 0.9837, 0.9264],
     [0.9254, 0.8745, 1.0000, 0.8806, 0.9851, 0.9286, 0.9440], [0.9369, 0.9312, 0.8806, 1.0000, 0.9457, 0.9714, 0.9857],
     [0.9630, 0.9102, 0.9851, 0.9457, 1.0000, 0.9653, 0.9862], [0.8987, 0.9837, 0.9286, 0.9714, 0.9653, 1.0000, 0.9779],
     [0.9683, 0.9264, 0.9440, 0.9857, 0.9862, 0.9779, 1.0000]]
)  # fmt: skip
EIGENVALUES = np.array([6.6315, 0.2331, 0.1272, 0.0066, 0.0016])
MAPPED = np.array(
    [[-0.9551, -0.9451, -0.9597, -0.9765, -0.9917, -0.9872, -0.9966],
     [0.2655, -0.3184, 0.1452, -0.0681, 0.0983, -0.1573, 0.0325],
     [0.1210, -0.0599, -0.2391, 0.1998, -0.0802, -0.0170, 0.0719],
     [0.0511, 0.0419, -0.0178, -0.0382, -0.0095, -0.0079, -0.0168],
     [0.0040, 0.0077, 0.0185, 0.0197, -0.0174, -0.0146, -0.0163]]
)  # fmt: skip


def results():
    """Return Gram matrix, eigenvalues, and coordinates with the printed signs (5, 7)."""
    kernel = mc.Gaussian(0.1)
    mapped = mc.maps.spectral(mc.features(kernel, POINTS), centre=False)(POINTS)
    mapped = mapped[:, np.argsort(-(mapped**2).sum(axis=0))].T[:5]
    signs = np.sign(np.sum(mapped * MAPPED, axis=1, keepdims=True))
    return kernel(POINTS), (mapped**2).sum(axis=1), signs * mapped


def picture(mapped):
    figure, axes = panels(1, 2, 2.6)
    for ax, X, title in zip(
        axes,
        (POINTS, mapped[1:3].T),
        ("points", "coordinates 2 and 3 in feature space"),
        strict=True,
    ):
        ax.scatter(*X.T)
        for i, x in enumerate(X):
            ax.annotate(str(i + 1), x, xytext=(3, 3), textcoords="offset points")
        ax.set_title(title)
    return figure


def experiment(_quick):
    gram, eigenvalues, mapped = results()
    pairs = {
        "Gram matrix": (gram, GRAM),
        "eigenvalues": (eigenvalues, EIGENVALUES),
        "mapped points": (mapped, MAPPED),
    }
    differences = {name: np.abs(ours - printed).max() for name, (ours, printed) in pairs.items()}
    text = ", ".join(f"{name} {difference:.0e}" for name, difference in differences.items())
    yield f"Largest differences from the printed numbers of four digits: {text}."
    yield Picture(
        lambda: picture(mapped), "The seven points, and two of their coordinates in feature space."
    )
    for name, difference in differences.items():
        yield Statement("Finite example", f"{name}: largest difference", "S", difference, 1e-4)
    difference = np.abs(mapped.T @ mapped - gram).max()
    yield Statement("Finite example", "inner products of the mapped points", "S", difference, 1e-4)


if __name__ == "__main__":
    main(experiment, SOURCE)
