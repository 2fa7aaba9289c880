"""Displays in the manner of scikit-learn: data in ``__init__``, drawing in ``plot``, artists as attributes.

matplotlib is imported when something is drawn; ``pip install "mercer[plot]"`` brings it.
"""

from mercer.plot.bounds import BoundsDisplay
from mercer.plot.contours import KernelPCAContoursDisplay
from mercer.plot.geometry import MetricDisplay, SurfaceDisplay
from mercer.plot.images import ImageGridDisplay
from mercer.plot.reductions import ReductionDisplay
from mercer.plot.spectra import SpectrumDisplay

__all__ = [
    "BoundsDisplay",
    "ImageGridDisplay",
    "KernelPCAContoursDisplay",
    "MetricDisplay",
    "ReductionDisplay",
    "SpectrumDisplay",
    "SurfaceDisplay",
]
