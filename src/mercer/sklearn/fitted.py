"""Fitted, the mixin of scikit-learn's estimators whose fit is Mercer's where it can be."""

import functools
import logging

from mercer._common import refusing, shown

_log = logging.getLogger("mercer.sklearn")

SIGMOID = (
    "kernel",
    lambda kernel: kernel == "sigmoid",
    "is indefinite: another solver finds another solution",
)


class Fitted:
    """Mixin of estimators with Mercer's fitted model ``mercer_``, None where the fit is scikit-learn's.

    A fit that Mercer refuses, or would warn of, is scikit-learn's. So is one with a value of a parameter in ``_kept``:
    the name, a function that says whether scikit-learn keeps a value, and the reason.
    """

    mercer_ = None
    _kept = (SIGMOID,)

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

    def _fitted(self, *data):
        """Return Mercer's model fitted to data, which ``_solved`` returns, or None, with the reason logged."""
        params = vars(self)
        params.pop("mercer_", None)
        reasons = [
            f"{name} = {shown(params[name])} {why}"
            for name, kept, why in self._kept
            if kept(params[name])
        ]
        if not reasons:
            try:
                with refusing():
                    self.mercer_ = self._solved(*data)
            except (ValueError, TypeError, MemoryError) as error:
                reasons.append(str(error))
        if reasons:
            _log.info("%s is fitted by scikit-learn: %s", type(self).__name__, reasons[0])
        return self.mercer_


@functools.lru_cache(maxsize=64, typed=True)
def _validate(kind, *values):
    """Raise unless the values of the parameters of a class are valid."""
    names = kind._get_param_names()  # noqa: SLF001 - of the mixin
    model = kind(**dict(zip(names, values, strict=True)))
    super(Fitted, model)._validate_params()
