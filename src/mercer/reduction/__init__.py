"""Reduced sets: vectors of the feature space written with fewer points, and the error that it costs."""

from mercer.reduction.base import Method, Reduction, Stage, Target
from mercer.reduction.construct import Construct
from mercer.reduction.search import reduce

__all__ = ["Construct", "Method", "Reduction", "Stage", "Target", "reduce"]
