"""Learning a kernel from labels: alignment, weights of several kernels, scales of columns, a metric."""

from mercer._compute.devices import anywhere
from mercer._elsewhere import explain_names
from mercer.learning._alignment import alignment, alignment_gradient
from mercer.learning._combine import Combination, combination, combine
from mercer.learning._learn_metric import learn_metric
from mercer.learning._learn_scales import learn_scales
from mercer.learning.tuning import Tuning

__all__ = [
    "Combination",
    "Tuning",
    "alignment",
    "alignment_gradient",
    "combination",
    "combine",
    "learn_metric",
    "learn_scales",
]
explain_names(__name__, anywhere)
