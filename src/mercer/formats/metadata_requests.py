"""Metadata requests of scikit-learn's routing in model files: dictionaries of texts and truth values."""

import sklearn
from sklearn.base import BaseEstimator

from mercer._common import shown

# Where scikit-learn keeps what set_fit_request and its like set.
ATTRIBUTE = "_metadata_request"


def requests_of(estimator: BaseEstimator) -> dict[str, dict[str, bool | str]]:
    """Return the requests that were set, as parameter and value by method."""
    serialised = estimator.get_metadata_routing()._serialize()  # noqa: SLF001 - no public way
    # None is the default of each parameter
    given = {
        method: {k: v for k, v in values.items() if v is not None}
        for method, values in serialised.items()
    }
    return {method: values for method, values in given.items() if values}


def set_requests(estimator: BaseEstimator, requests: dict[str, dict[str, bool | str]]) -> None:
    """Set requests on an estimator, or raise a ValueError."""
    with sklearn.config_context(enable_metadata_routing=True):
        try:
            for method, values in requests.items():
                getattr(estimator, f"set_{method}_request")(**values)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"{type(estimator).__name__} cannot have the metadata requests {shown(requests)}."
            ) from error
