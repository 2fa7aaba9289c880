"""Reduced sets: approximations of vectors of the feature space by expansions with fewer points."""

from mercer._compute.devices import anywhere
from mercer._elsewhere import explain_names
from mercer.reduction._reduce import reduce
from mercer.reduction.base import Method, Reduction, Stage, Target
from mercer.reduction.construct import Construct
from mercer.reduction.merge import Merge
from mercer.reduction.path import L1, MaxNorm
from mercer.reduction.refine import Refine, VariableWidths
from mercer.reduction.subset import Eigenvector, Exhaustive, Greedy, Pivoted

__all__ = [
    "Construct",
    "Eigenvector",
    "Exhaustive",
    "Greedy",
    "L1",
    "MaxNorm",
    "Merge",
    "Method",
    "Pivoted",
    "Reduction",
    "Refine",
    "Stage",
    "Target",
    "VariableWidths",
    "reduce",
]
explain_names(__name__, anywhere)
