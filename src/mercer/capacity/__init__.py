"""Capacity of a kernel model: spectra, enclosing balls, entropy and covering numbers, and bounds of the error.

Functions take a kernel and points, or a fitted estimator and its training points. A `Bound` has a statement, a
confidence and assumptions; `report` compares all bounds with the true error.
"""

from mercer._compute.devices import anywhere
from mercer._elsewhere import explain_names
from mercer.capacity._leave_one_out import (
    jaakkola_haussler,
    leave_one_out,
    leave_one_out_outputs,
    leave_one_out_predictions,
    opper_winther,
    radius_margin,
    span_rule,
    squared_spans,
    support_fraction,
    xi_alpha,
)
from mercer.capacity._model import Model, model, models
from mercer.capacity._report import Report, report
from mercer.capacity._spectrum import Spectrum, effective_dimension, kpca_residual, spectrum
from mercer.capacity._srm import Choice, srm
from mercer.capacity.ball import Ball, smallest_ball
from mercer.capacity.bound import Bound
from mercer.capacity.decay import ExponentialDecay, ListedDecay, PolynomialDecay, estimate_decay
from mercer.capacity.entropy import (
    entropy_numbers,
    feature_entropy_number,
    log_entropy_number,
    log_feature_entropy_number,
)
from mercer.capacity.error_bounds import (
    covering_bound,
    dudley_bound,
    local_complexity,
    local_rademacher,
    log_covering_number,
    pac_bayes,
    rademacher,
    sample_compression,
    vc_bound,
    vc_confidence,
    vc_margin,
)
from mercer.capacity.scoring import Resubstitution, ridge_score, span_score

__all__ = [
    "Ball",
    "Bound",
    "Choice",
    "ExponentialDecay",
    "ListedDecay",
    "Model",
    "PolynomialDecay",
    "Report",
    "Resubstitution",
    "Spectrum",
    "covering_bound",
    "dudley_bound",
    "effective_dimension",
    "entropy_numbers",
    "estimate_decay",
    "feature_entropy_number",
    "jaakkola_haussler",
    "kpca_residual",
    "leave_one_out",
    "leave_one_out_outputs",
    "leave_one_out_predictions",
    "local_complexity",
    "local_rademacher",
    "log_covering_number",
    "log_entropy_number",
    "log_feature_entropy_number",
    "model",
    "models",
    "opper_winther",
    "pac_bayes",
    "rademacher",
    "radius_margin",
    "report",
    "ridge_score",
    "sample_compression",
    "smallest_ball",
    "span_rule",
    "span_score",
    "spectrum",
    "squared_spans",
    "srm",
    "support_fraction",
    "vc_bound",
    "vc_confidence",
    "vc_margin",
    "xi_alpha",
]
explain_names(__name__, anywhere)
