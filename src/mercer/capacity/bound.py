"""Bound: a number that limits an error, with what it states, how surely, and on what it rests."""

from dataclasses import dataclass

from mercer._common import check_number


@dataclass(frozen=True)
class Bound:
    """A bound, or a heuristic that looks like one.

    Attributes
    ----------
    name : str
    value : float
        What the quantity is at most, or about; infinity where nothing can be said.
    statement : str
        One sentence.
    quantity : str
        "error" (the probability of a wrong answer at a new point), "leave-one-out error" or another.
    confidence : float or None
        Probability, over samples, with which the statement holds: 1 where it always does, None for a heuristic.
    assumptions : tuple of str
        What must be true beside independent samples of one distribution.
    trivial : float
        What can be said without looking: 1 for an error.

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
    def kind(self):
        """The words "bound" or "heuristic"."""
        return "heuristic" if self.confidence is None else "bound"

    @property
    def vacuous(self):
        """Whether it says no more than what is known without data."""
        return not self.value < self.trivial


def probability(confidence):
    """Return a confidence, or say that it is none."""
    check_number("confidence", confidence)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence = {confidence!r} must lie between 0 and 1.")
    return float(confidence)
