"""Displays in the manner of scikit-learn: data in ``__init__``, drawing in ``plot``, artists as attributes.

matplotlib is imported when something is drawn; ``pip install "mercer[plot]"`` brings it.
"""

from mercer.plot.contours import KernelPCAContoursDisplay
from mercer.plot.geometry import MetricDisplay, SurfaceDisplay
from mercer.plot.images import ImageGridDisplay

__all__ = ["ImageGridDisplay", "KernelPCAContoursDisplay", "MetricDisplay", "SurfaceDisplay"]
