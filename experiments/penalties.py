"""Regularisers other than that of the kernel: the second derivative of a Gaussian expansion.

Kernel ridge regression over sums of the same Gaussian functions, once with the squared norm of the kernel and once with
the integral of f''^2, which ``with_penalty`` makes the squared norm of a kernel. The strength of each is selected by
the exact leave-one-out error. With D = K the kernel itself returns.

Run: python -m experiments.penalties [--quick]
"""

import numpy as np

import mercer as mc
from experiments._report import Entry, Picture, Statement, main, panels

SOURCE = "Schoelkopf et al., Advances in kernel methods (1998), eq. (33)"
KERNEL = mc.Gaussian(20.0)
# Strengths, as multiples of the mean of k(x, x).
SHARES = 10.0 ** np.arange(-6, 1)


def truth(x):
    return np.sin(2 * np.pi * x) * x + x


def fitted(kernel, x, y):
    """Return the fit with the regularisation strength of the least leave-one-out error."""
    size = kernel.diag(x).mean()
    fits = [mc.KernelRidge(share * size, kernel=kernel).fit(x, y) for share in SHARES]
    return min(fits, key=lambda fit: np.sum(fit.loo_residuals_**2))


def bending(psi, grid):
    """Return the integral of f''^2 by differences."""
    values = psi(grid)[:, 0]
    return np.sum(np.diff(values, 2) ** 2) / (grid[1, 0] - grid[0, 0]) ** 3


def picture(x, y, grid, fits):
    figure, ax = panels(1, 1, 3.0)
    ax.plot(x, y, "o", color="0.5", markersize=3)
    ax.plot(grid, truth(grid), ":", color="0.5", label="true function")
    for name, fit in fits.items():
        ax.plot(grid, fit.predict(grid), label=name)
    ax.legend(fontsize=8)
    return figure


def experiment(quick):
    grid, errors, bends = np.linspace(0, 1, 400)[:, None], {}, {}
    for seed in range(3 if quick else 20):
        rng = np.random.default_rng(seed)
        x = np.sort(rng.uniform(0, 1, 40))[:, None]
        y = truth(x)[:, 0] + 0.15 * rng.standard_normal(40)
        kernels = {
            "norm of the kernel": KERNEL,
            "second derivative": mc.regularisation.with_penalty(KERNEL, x, 2),
        }
        fits = {name: fitted(kernel, x, y) for name, kernel in kernels.items()}
        for name, fit in fits.items():
            errors.setdefault(name, []).append(
                np.sqrt(np.mean((fit.predict(grid) - truth(grid)[:, 0]) ** 2))
            )
            bends.setdefault(name, []).append(bending(fit.expansion_, grid))
    text = ", ".join(f"{name} {np.median(values):.3f}" for name, values in errors.items())
    yield f"Median error of ridge regression over the same functions with two penalties: {text}."
    yield Picture(lambda: picture(x, y, grid, fits), "Fits with both penalties to the last draw.")
    same = mc.regularisation.with_penalty(KERNEL, x, KERNEL(x))
    yield Statement(
        "Eq. (33)",
        "D = K: difference from the kernel on X",
        "S",
        np.abs(same(x) - KERNEL(x)).max(),
        1e-6,
    )
    for name in errors:
        yield Entry("Eq. (33)", f"{name}: root mean squared error", None, "", errors[name], "least")
        yield Entry("Eq. (33)", f"{name}: integral of f''^2", None, "", bends[name], "least")


if __name__ == "__main__":
    main(experiment, SOURCE)
