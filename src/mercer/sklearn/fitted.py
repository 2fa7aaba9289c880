"""Fitted, the mixin of scikit-learn's estimators whose fit is Mercer's where it can be."""

import functools
import logging

from sklearn.base import _fit_context

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

    A fit that Mercer refuses, or would warn of, is scikit-learn's.
    """

    mercer_ = None

    @classmethod
    @functools.cache
    def _get_param_names(cls):
        """Return the names of the parameters, read from the signature once: it takes a tenth of a small fit."""
        return super()._get_param_names()

    def _validate_params(self):
        """Validate the parameters; values that were valid before are, and take no tenth of a small fit."""
        try:
            _validate(type(self), *(vars(self)[name] for name in self._get_param_names()))
        except TypeError:
            # values that have no hash, or are not valid
            super()._validate_params()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model; parameters and errors are those of scikit-learn's ``fit``."""
        params = vars(self)
        params.pop("mercer_", None)
        reasons = [
            f"{name} = {shown(value)} {why}"
            for (name, value), why in _KEPT.items()
            if params.get(name) == value
        ]
        if not reasons:
            try:
                with refusing():
                    self.mercer_ = self._solved(X, y, sample_weight)
            except (ValueError, TypeError, MemoryError) as error:
                reasons.append(str(error))
            else:
                return self
        _log.info("%s is fitted by scikit-learn: %s", type(self).__name__, reasons[0])
        return super().fit(X, y) if sample_weight is None else super().fit(X, y, sample_weight)


@functools.lru_cache(maxsize=64, typed=True)
def _validate(kind, *values):
    """Raise unless the values of the parameters of a class are valid."""
    names = kind._get_param_names()  # noqa: SLF001 - of the mixin
    model = kind(**dict(zip(names, values, strict=True)))
    super(Fitted, model)._validate_params()
