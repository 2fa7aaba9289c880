"""How much a kernel machine can learn: spectra, balls, entropy numbers, and bounds of its error.

Everything takes a kernel and points, or a fitted model and the points it was fitted to. A `Bound` says what it states,
how surely, on what it rests, and whether it says anything here; `report` puts all of them beside the true error.
"""

from mercer.capacity._model import Machine, machine, machines
from mercer.capacity._pac_bayes import pac_bayes
from mercer.capacity._report import Report, report
from mercer.capacity._srm import Choice, srm
from mercer.capacity.ball import Ball, smallest_ball
from mercer.capacity.bound import Bound
from mercer.capacity.complexity import local_complexity, local_rademacher, rademacher
from mercer.capacity.components import kpca_residual
from mercer.capacity.compressed import sample_compression
from mercer.capacity.covering import log_covering_number
from mercer.capacity.decay import ExponentialDecay, ListedDecay, PolynomialDecay, estimate_decay
from mercer.capacity.eigenvalues import Spectrum, effective_dimension, spectrum
from mercer.capacity.entropy import (
    entropy_numbers,
    feature_entropy_number,
    log_entropy_number,
    log_feature_entropy_number,
)
from mercer.capacity.leave_one_out import (
    jaakkola_haussler,
    leave_one_out,
    opper_winther,
    radius_margin,
    support_fraction,
    xi_alpha,
)
from mercer.capacity.scoring import Resubstitution, ridge_score, span_score
from mercer.capacity.span import leave_one_out_outputs, leave_one_out_predictions, span_rule, squared_spans
from mercer.capacity.vc import vc_bound, vc_confidence, vc_margin

__all__ = [
    "Ball",
    "Bound",
    "Choice",
    "ExponentialDecay",
    "ListedDecay",
    "Machine",
    "PolynomialDecay",
    "Report",
    "Resubstitution",
    "Spectrum",
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
    "machine",
    "machines",
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
