"""Displays as in scikit-learn: data in ``__init__``, drawing in ``plot``, artists as attributes.

matplotlib is imported on the first drawing; install it with ``pip install "mercer[plot]"``.
"""

from mercer._elsewhere import explain_names
from mercer.plot.bounds import BoundsDisplay
from mercer.plot.contours import KernelPCAContoursDisplay
from mercer.plot.decisions import DecisionBoundaryDisplay
from mercer.plot.geometry import MetricDisplay, SurfaceDisplay
from mercer.plot.gram_matrices import GramDisplay
from mercer.plot.grids import ParameterGridDisplay
from mercer.plot.images import ImageGridDisplay
from mercer.plot.preimage_paths import PreImagePathsDisplay
from mercer.plot.reductions import ReductionDisplay
from mercer.plot.spectra import SpectrumDisplay

__all__ = [
    "BoundsDisplay",
    "DecisionBoundaryDisplay",
    "GramDisplay",
    "ImageGridDisplay",
    "KernelPCAContoursDisplay",
    "MetricDisplay",
    "ParameterGridDisplay",
    "PreImagePathsDisplay",
    "ReductionDisplay",
    "SpectrumDisplay",
    "SurfaceDisplay",
]
explain_names(__name__)
