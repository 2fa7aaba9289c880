"""Mercer: kernel methods for scikit-learn, with pre-images, reduced sets, compression and export.

- Kernels: ``Gaussian``, ``Matern``, ``Polynomial``, ...; ``strings``, ``graphs``, ``sets`` and ``sequences`` of others.
- Estimators: ``SVC``, ``SVR``, ``QuantileSVR``, ``OneClassSVM``, ``KernelPCA``, ``KernelRidge``, ``KernelFisher``,
  ``Nystroem``, ``Kernelized``; ``SVCCV``, ``SVRCV`` choose C and gamma; ``plan``, ``certify`` check a fit.
- Vectors of the feature space: ``features`` makes an ``Expansion`` and ``Gram`` a lazy kernel matrix; ``mean``,
  ``sqdist``, ``mmd``, ``svd``, ``qr``, ``lstsq`` and ``project`` compute with them.
- Back to points: ``preimage``, ``ray``. Fewer points: ``reduce`` for expansions, ``compress`` for fitted models.
- Files: ``save``, ``load``; ONNX, C and LIBSVM in ``mercer.formats``; ``as_expansion`` reads models of scikit-learn.
- Scripts of scikit-learn: ``patch_sklearn`` and ``unpatch_sklearn`` switch its classes to Mercer's fits, and back.
- Kernels from data: ``alignment``, ``combine``, ``learn_scales``. Definiteness: ``check_kernel``, ``make_positive``.
- Tests: ``mmd_test``, ``hsic_test``, ``ksd_test``. Also ``mercer.capacity``, ``mercer.manifold``, ``mercer.plot``.

>>> import numpy as np, mercer as mc
>>> X = np.random.default_rng(0).normal(size=(100, 2))
>>> mc.SVC(C=10.0, kernel=mc.Gaussian(0.5)).fit(X, X[:, 0] > 0).predict([[1.0, 0.0], [-1.0, 0.0]])
array([ True, False])
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from mercer import _elsewhere, estimators, kernels, preimages
from mercer.checkpoint import checkpoint
from mercer.estimators import *
from mercer.expansion import Expansion, features, mean, mmd, sqdist
from mercer.factor import qr, svd
from mercer.gram import Gram
from mercer.kernels import *
from mercer.kernels import graphs, sequences, sets, strings
from mercer.least_squares import lstsq
from mercer.permutation_tests import hsic_test, ksd_test, mmd_test
from mercer.preimages import Distances, Exact, FixedPoint, Gradient, Learned, Search, preimage, ray
from mercer.progress_bar import ProgressBar
from mercer.projection import project
from mercer.solvers.certify import Certificate, Residuals, certify

if TYPE_CHECKING:
    from mercer import capacity, invariance, learning, manifold, maps, regularisation
    from mercer.compression import compress, from_expansion
    from mercer.definiteness import check_kernel, make_positive
    from mercer.formats import ModelFileError, as_expansion, load, save
    from mercer.learning import alignment, combine, learn_metric, learn_scales
    from mercer.reduction import (
        L1,
        Construct,
        Eigenvector,
        Exhaustive,
        Greedy,
        MaxNorm,
        Merge,
        Pivoted,
        Refine,
        VariableWidths,
        reduce,
    )
    from mercer.sklearn import patch_sklearn, unpatch_sklearn

__version__ = "0.1.0"

# "from mercer.strings import Spectrum" works as "mercer.strings.Spectrum" does
_sys.modules.update(
    {
        f"mercer.{each.__name__.rpartition('.')[2]}": each
        for each in (graphs, sequences, sets, strings)
    }
)

# Methods of `reduce` and `preimage`, and rarer kernels, are listed by ``mercer.reduction``, ``mercer.preimages`` and
# ``mercer.kernels``; `__getattr__` finds them here too.
__all__ = [
    "Cauchy",
    "Chi2",
    "Expansion",
    "Gaussian",
    "Gram",
    "Intersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "Polynomial",
    "Precomputed",
    "RationalQuadratic",
    "Sigmoid",
    "alignment",
    "as_expansion",
    "certify",
    "check_kernel",
    "checkpoint",
    "combine",
    "compress",
    "features",
    "graphs",
    "hsic_test",
    "ksd_test",
    "learn_metric",
    "learn_scales",
    "load",
    "lstsq",
    "make_positive",
    "mean",
    "mmd",
    "mmd_test",
    "patch_sklearn",
    "preimage",
    "project",
    "qr",
    "ray",
    "reduce",
    "save",
    "sequences",
    "sets",
    "sqdist",
    "strings",
    "svd",
    "unpatch_sklearn",
]
__all__ += estimators.__all__
_elsewhere.explain_names("mercer")
for _each in ("estimators", "graphs", "kernels", "preimages", "sequences", "sets", "strings"):
    _elsewhere.explain_names(f"mercer.{_each}")

# Names that are imported from their packages at first use, and modules: the start is a quarter shorter.
_NAMES = {
    "compression": ("compress", "from_expansion"),
    "definiteness": ("check_kernel", "make_positive"),
    "formats": ("ModelFileError", "as_expansion", "load", "save"),
    "learning": ("alignment", "combine", "learn_metric", "learn_scales"),
    "reduction": (
        "Construct",
        "Eigenvector",
        "Exhaustive",
        "Greedy",
        "L1",
        "MaxNorm",
        "Merge",
        "Pivoted",
        "Refine",
        "VariableWidths",
        "reduce",
    ),
    "sklearn": ("patch_sklearn", "unpatch_sklearn"),
}
_PACKAGES = {name: package for package, names in _NAMES.items() for name in names}
_MODULES = {
    *_NAMES,
    "capacity",
    "datasets",
    "invariance",
    "manifold",
    "maps",
    "plot",
    "regularisation",
    "testing",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _import_module(f"mercer.{name}")
    if name in _PACKAGES:
        found = getattr(_import_module(f"mercer.{_PACKAGES[name]}"), name)
        globals()[name] = found
        return found
    return _elsewhere.refuse_name("mercer", name, 2)


def __dir__() -> list[str]:
    return sorted(
        {
            *__all__,
            *_MODULES,
            "kernels",
            "preimages",
            *(name for name in globals() if name.startswith("__")),
        }
    )
