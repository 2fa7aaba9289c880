"""Capacity from the decay of eigenvalues: entropy numbers of the feature map.

Eigenvalues exp(-j^p) give entropy numbers with log(1 / e_n) = O(log(n)^(p / (p + 1))): the exponent is measured as a
slope between two large n. A Gaussian kernel is the example with p = 2. Polynomial decay j^-(a + 1) gives log(1 / e_n) =
(a / 2) log log n. Below, the eigenvalues of Gaussian Gram matrices of several widths, which such laws describe.

Run: python -m experiments.entropy
"""

import numpy as np

import mercer as mc
from experiments._report import Entry, Picture, main, panels

SOURCE = "Schoelkopf et al., IEEE TNN 10 (1999), section II-D"
# Logarithms of two n, so large that the terms of lower order are small; polynomial decay needs more eigenvalues.
EXPONENTIAL, POLYNOMIAL = np.array([1e6, 1e8]), np.array([1e4, 1e6])


def slope(law, log_n, scale):
    """Return the slope of scale(log(1 / e_n)) in log log n."""
    values = scale(-mc.capacity.log_feature_entropy_number(law, log_n))
    return (values[1] - values[0]) / np.log(log_n[1] / log_n[0])


def picture():
    figure, axes = panels(1, 2, 2.8)
    log_n = np.logspace(1, 6, 40)
    for power in (0.5, 1.0, 2.0):
        values = mc.capacity.log_feature_entropy_number(
            mc.capacity.ExponentialDecay(1.0, power), log_n
        )
        axes[0].loglog(log_n, np.maximum(-values, 1e-3), label=f"p = {power:g}")
    axes[0].set(xlabel="log n", ylabel="log(1 / entropy number)")
    axes[0].legend(fontsize=8)
    X = np.random.default_rng(0).uniform(-1, 1, (300, 1))
    for gamma in (1.0, 10.0, 100.0):
        values = np.linalg.eigvalsh(mc.Gaussian(gamma)(X))[::-1] / 300
        axes[1].semilogy(values[values > 1e-12], label=f"gamma {gamma:g}")
    axes[1].set(xlabel="j", title="eigenvalues, Gaussian")
    axes[1].legend(fontsize=8)
    return figure


def experiment(_quick):
    powers = (0.5, 1.0, 2.0)
    found = [
        slope(mc.capacity.ExponentialDecay(1.0, power), EXPONENTIAL, np.log) for power in powers
    ]
    yield f"Entropy numbers of a Gaussian kernel decrease with the exponent {found[-1]:.3f} of log n (theory 2/3)."
    yield Picture(
        picture,
        "Entropy numbers for three laws of decay, and eigenvalues of Gaussian Gram matrices.",
    )
    for power, ours in zip(powers, found, strict=True):
        name = f"exponential decay, p = {power:g}: exponent"
        reason = "n is finite: terms of lower order vanish slowly"
        yield Entry("Section II-D", name, power / (power + 1), "M-hi", ours, "", reason)
    for a in (1.0, 3.0):
        ours = slope(mc.capacity.PolynomialDecay(a + 1), POLYNOMIAL, np.asarray)
        yield Entry(
            "Section II-D", f"polynomial decay, a = {a:g}: slope in log log n", a / 2, "M-med", ours
        )


if __name__ == "__main__":
    main(experiment, SOURCE)
