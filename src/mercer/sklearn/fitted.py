"""Fitted, the mixin of scikit-learn's estimators whose fit is Mercer's where it can be."""

import functools
import logging

from mercer._common import refusing, shown

_log = logging.getLogger("mercer.sklearn")

# Values of parameters with which a fit is scikit-learn's, and the reasons.
_KEPT = {
    ("kernel", "sigmoid"): "is indefinite: another solver finds another solution",
    ("eigen_solver", "randomized"): "is scikit-learn's approximation",
    ("probability", True): "fits the probabilities of LIBSVM",
}


class Fitted:
    """Mixin of estimators with Mercer's fitted model ``mercer_``, None where the fit is scikit-learn's.

    A fit that Mercer refuses, or would warn of, is scikit-learn's. ``_native`` is Mercer's class.
    """

    mercer_ = None

    @classmethod
    @functools.cache
    def _get_param_names(cls):
        """Return the names of the parameters, read from the signature once: it takes a tenth of a small fit."""
        return super()._get_param_names()

    def fit(self, X, y, sample_weight=None):
        """Fit the model; parameters and errors are those of scikit-learn's ``fit``."""
        vars(self).pop("mercer_", None)
        params = self.get_params(deep=False)
        try:
            try:
                _check(type(self), **params)
            except TypeError:
                # values that have no hash
                _check.__wrapped__(type(self), **params)
            with refusing():
                self.mercer_ = self._solved(X, y, sample_weight)
            return self
        except (ValueError, TypeError, MemoryError) as error:
            _log.info("%s is fitted by scikit-learn: %s", type(self).__name__, error)
        return super().fit(X, y) if sample_weight is None else super().fit(X, y, sample_weight)

    def _with(self, **changed):
        """Return Mercer's estimator with the parameters that it shares with this one, and some that are changed.

        That for a callable takes the matrix of its values.
        """
        own = self._native.__dataclass_fields__
        params = {name: value for name, value in vars(self).items() if name in own}
        if callable(self.kernel):
            params["kernel"] = "precomputed"
        return self._native(**params | changed)


# a tenth of a small fit
@functools.lru_cache(maxsize=64, typed=True)
def _check(kind, **params):
    """Raise unless the parameters of a class are valid, and of a fit that is not scikit-learn's."""
    kind(**params)._validate_params()  # noqa: SLF001 - of scikit-learn
    for (name, value), why in _KEPT.items():
        if params.get(name) == value:
            raise ValueError(f"{name} = {shown(value)} {why}")
