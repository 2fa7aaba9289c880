"""The classes of the register and of scikit-learn that a model file may contain, and the attributes it may set."""

import functools
import importlib
import re

from sklearn.base import BaseEstimator

from mercer._common import shown
from mercer._compute import register

# Estimators of scikit-learn whose fitted state is a few arrays of fixed meaning: scalers before a model, and linear
# models inside Kernelized. They are imported on use.
SCIKIT_LEARN = dict.fromkeys(
    ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), "preprocessing"
)
SCIKIT_LEARN |= dict.fromkeys(
    ("ElasticNet", "Lasso", "LinearRegression", "LogisticRegression", "Ridge"), "linear_model"
)
SCIKIT_LEARN |= dict.fromkeys(("LinearSVC", "LinearSVR"), "svm")

# Attributes that no prediction needs: functions, sums over points that only ``partial_fit`` continues, and values
# that predictions compute of other attributes.
LEFT_OUT = ("scorer_", "_skl_callbacks", "_moments", "_prepared", "_training")
# Where scikit-learn keeps what set_fit_request and its like set.
REQUESTS = "_metadata_request"
# Whether a transformer returns tables, whose columns the next step expects by name; and requests.
_SETTINGS = "_sklearn_output_config", REQUESTS
_FITTED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
_PRIVATE = re.compile(r"_[a-z][a-z0-9_]*")


def _registered(name):
    """Return the class of the register by its name in files, or ``object``."""
    if name not in register.CLASSES:
        # its reports are records; it imports this package
        importlib.import_module("mercer.compression")
    return register.CLASSES.get(name, object)


def record(name: str) -> type:
    """Return the class of a kernel or record by its name in files, or raise a ValueError."""
    cls = _registered(name)
    if cls is object or issubclass(cls, BaseEstimator):
        raise ValueError(f"{shown(name)} is not a record of Mercer.")
    return cls


def estimator(name: str) -> type:
    """Return the class of an estimator by its name in files, or raise a ValueError."""
    if name in SCIKIT_LEARN:
        return getattr(importlib.import_module(f"sklearn.{SCIKIT_LEARN[name]}"), name)
    cls = _registered(name)
    if not issubclass(cls, BaseEstimator):
        raise ValueError(f"{shown(name)} is not an estimator that a model file may contain.")
    return cls


def is_storable_estimator(thing: object) -> bool:
    """Return whether a file may contain an object as an estimator; a subclass is another class."""
    cls = type(thing)
    if cls.__name__ in SCIKIT_LEARN and estimator(cls.__name__) is cls:
        return True
    return isinstance(thing, BaseEstimator) and register.name_in_files(cls) is not None


def is_fitted_attribute(cls: type, name: str) -> bool:
    """Return whether a file may set an attribute: one that fits set and that the class itself does not define."""
    private = name in _SETTINGS or (_PRIVATE.fullmatch(name) and cls.__name__ not in SCIKIT_LEARN)
    if not (private or _FITTED.fullmatch(name)):
        return False
    defined = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return defined is None or isinstance(defined, functools.cached_property)
