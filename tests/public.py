"""The public names of Mercer: those that ``mercer`` lists, and those of its packages, which it finds too."""

import mercer as mc
from mercer import estimators, kernels, preimages, reduction

PACKAGES = (estimators, kernels, preimages, reduction)
# Only authors of kernels need ``Tags``.
NAMES = sorted(
    {*mc.__all__, *(name for each in PACKAGES for name in each.__all__ if hasattr(mc, name))}
    - {"Tags"}
)
