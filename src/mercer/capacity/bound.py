"""Bound: the value of a bound or heuristic, with its statement, confidence and assumptions."""

from mercer._common import record

# Assumption of bounds for one kernel.
FIXED_KERNEL = "a kernel fixed before the sample was drawn"


@record
class Bound:
    """Upper bound of a quantity, or a heuristic estimate of it.

    Attributes
    ----------
    name : str
    value : float
        Upper bound or estimate; infinity when the method gives none.
    statement : str
        The result in one sentence.
    quantity : str
        "error" (probability of misclassifying a new point), "leave-one-out error" or another.
    confidence : float or None
        Probability over samples with which the bound holds: 1 when it always holds, None for a heuristic.
    assumptions : tuple of str
        Assumptions beside independent, identically distributed samples.
    trivial : float
        Upper bound known without data: 1 for an error.

    Examples
    --------
    >>> from mercer.capacity import Bound
    >>> bound = Bound("guess", 1.3, "The error is at most 1.3.", "error", 0.95)
    >>> bound.vacuous, bound.kind
    (True, 'bound')
    """

    name: str
    value: float
    statement: str
    quantity: str
    confidence: float | None = None
    assumptions: tuple[str, ...] = ()
    trivial: float = 1.0

    @property
    def kind(self) -> str:
        """Either "bound" or "heuristic"."""
        return "heuristic" if self.confidence is None else "bound"

    @property
    def vacuous(self) -> bool:
        """True when the value is not below the trivial upper bound."""
        return not self.value < self.trivial
