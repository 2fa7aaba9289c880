"""dudley_bound: the margin bound of the error from Dudley's integral of covering numbers on the sample."""

import numpy as np

from mercer.capacity._model import Model, require_model
from mercer.capacity._rademacher import margin_bound
from mercer.capacity._spectrum import Spectrum, require_uncentred
from mercer.capacity.bound import Bound
from mercer.capacity.covering import log_covering_number

# Number of radii between the largest axis and its smallest share, on a logarithmic scale.
_RADII = 200
_SMALLEST = 1e-6


def dudley_bound(model: Model, spectrum: Spectrum, *, confidence: float = 0.95) -> Bound:
    r"""Return the margin bound of the error from Dudley's integral of the covering numbers on the sample.

    The Rademacher complexity of the functions of norm 1 is bounded by

    .. math:: \inf_{\alpha > 0} \; 4 \alpha + \frac{12}{\sqrt n} \int_\alpha^{a_1} \sqrt{\log N(\tau)} \, d\tau,
        \qquad a_1 = \sqrt{\lambda_1 / n}

    with the covering numbers of `log_covering_number`, plus 1 / sqrt(n) for the bias; it takes the place of the
    complexity sqrt(tr K) / n in `rademacher`.

    Parameters
    ----------
    model : Model
        Of any classifier.
    spectrum : Spectrum
        Of the same kernel and points, not centred: ``capacity.spectrum(model.kernel, model.points, centre=False)``.
    confidence : float
        1 - delta, between 0 and 1.

    Returns
    -------
    Bound
        Below 1 from about 100 000 points on. Rarely below `rademacher`, whose complexity is exact up to a factor
        sqrt(2): the integral shows how the decay of the eigenvalues limits the capacity.

    Raises
    ------
    ValueError
        If the spectrum is centred or of another number of points.

    Notes
    -----
    The integral is bounded from above by the sum over intervals, since N decreases. O(n log n) for each of 200 radii.

    References
    ----------
    Dudley, *The sizes of compact subsets of Hilbert space and continuity of Gaussian processes*, J. Funct. Anal. 1
    (1967); Bartlett, Foster, Telgarsky, *Spectrally-normalized margin bounds for neural networks*, NIPS 30 (2017),
    lemma A.5, for the constants; Williamson, Shawe-Taylor, Schölkopf, Smola, *Sample based generalization bounds*,
    NeuroCOLT NC-TR-99-055 (1999).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> X = np.linspace(-3, 3, 2000)[:, None]
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = mc.capacity.model(mc.SVC(C=0.01, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    >>> plain = mc.capacity.spectrum(model.kernel, model.points, 5, centre=False)
    >>> mc.capacity.dudley_bound(model, plain).value > mc.capacity.rademacher(model).value
    True
    """
    require_model(model)
    require_uncentred(spectrum)
    if spectrum.n != len(model):
        raise ValueError(
            f"spectrum is of {spectrum.n} points, but the model has {len(model)}; use "
            "mercer.capacity.spectrum(model.kernel, model.points, centre=False)."
        )
    return margin_bound("Dudley", model, complexity(spectrum) + spectrum.n**-0.5, confidence)


def complexity(spectrum: Spectrum) -> float:
    """Return a bound of the Rademacher complexity of the functions of norm 1 on the sample."""
    largest = float(np.sqrt(spectrum.values[0] / spectrum.n))
    radii = largest * np.geomspace(_SMALLEST, 1, _RADII)
    # infinite for radii that need eigenvalues that were not computed
    logs = np.array([log_covering_number(spectrum, radius) for radius in radii])
    parts = np.sqrt(logs[:-1]) * np.diff(radii)
    integrals = np.append(np.cumsum(parts[::-1])[::-1], 0.0)
    return float(np.min(4 * radii + 12 / np.sqrt(spectrum.n) * integrals))
