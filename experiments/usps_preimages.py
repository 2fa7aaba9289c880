"""All pre-image methods on noisy handwritten digits: distance, share converged, time.

Kernel PCA on 3 000 digits of USPS, 512 components; 500 test digits with Gaussian noise of standard deviation 0.5
(pixels in [-1, 1]). The Gaussian kernel has width 128. Polynomial kernels have no fixed-point iteration; their rows
show the gradient method. The distance is the mean squared distance to the clean digit.

Run: python -m experiments.usps_preimages
"""

import time

import numpy as np

import mercer as mc
from experiments._report import run_printed
from experiments._usps import WIDTH, draw, error, gaussian

COMPONENTS = 512

# (kernel, method, components)
CASES = {
    "Gaussian, fixed point": (mc.Gaussian(1 / WIDTH), mc.FixedPoint()),
    "Gaussian, fixed point, normalised": (mc.Gaussian(1 / WIDTH), mc.FixedPoint(normalise=True)),
    "Gaussian, fixed point, pulled": (mc.Gaussian(1 / WIDTH), mc.FixedPoint(pull=1e-3)),
    "Gaussian, gradient": (mc.Gaussian(1 / WIDTH), mc.Gradient()),
    "Gaussian, distances": (mc.Gaussian(1 / WIDTH), mc.Distances()),
    "Gaussian, learned on clean digits": (mc.Gaussian(1 / WIDTH), mc.Learned()),
    "Gaussian, learned with the noise": (mc.Gaussian(1 / WIDTH), mc.Learned(noise=gaussian)),
    "polynomial of degree 2, gradient": (mc.Polynomial(2, 1 / 256, 1.0), mc.Gradient()),
    "polynomial of degree 3, gradient": (mc.Polynomial(3, 1 / 256, 1.0), mc.Gradient()),
    "polynomial of degree 3, learned": (mc.Polynomial(3, 1 / 256, 1.0), mc.Learned()),
}


def main():
    """Print the table."""
    train, clean = draw(0)
    noisy = gaussian(clean, np.random.default_rng(1000))
    fitted = {}
    print(f"{'noisy digits':38}{error(noisy, clean):8.2f}")
    for name, (kernel, method) in CASES.items():
        if kernel not in fitted:
            fitted[kernel] = mc.KernelPCA(COMPONENTS, kernel=kernel).fit(train)
        kpca = fitted[kernel]
        start = time.perf_counter()
        found = mc.preimage(kpca.reconstruct(kpca.transform(noisy)), method, start=noisy)
        seconds = time.perf_counter() - start
        inputs = error(found.points, clean)
        share = 100 * found.converged.mean()
        print(
            f"{name:38}{inputs:8.2f}   {share:5.1f} % converged after {found.n_iter.mean():5.1f} iterations",
            end="",
        )
        print(f"   {found.sqdist.mean():8.4f} in feature space   {seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    run_printed(main)
