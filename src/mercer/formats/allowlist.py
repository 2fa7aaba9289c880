"""The closed lists of kernels, records and estimators that a model file may contain."""

import functools
import importlib
import re
from typing import Any

from mercer import estimators, kernels
from mercer._common import shown
from mercer.formats.fitted_expansion import FittedExpansion
from mercer.formats.metadata_requests import ATTRIBUTE
from mercer.invariance import Flow, InvariantMap, Projected, TangentFeatures, Thickening
from mercer.kernels import graphs, sequences, sets, strings
from mercer.maps.coordinates import Coordinates
from mercer.preimages import Distances, Exact, FixedPoint, Gradient, Learned, Search
from mercer.solvers._certify import Certificate
from mercer.solvers.perceptron import Mistakes

# Kernels that contain Python functions, which a file of data cannot hold; base classes and functions.
_FUNCTIONS = ("FeatureMap", "FunctionKernel")
_BASES = ("Coordinatewise", "Dot", "Kernel", "Radial", "Tags", "on_columns")

# Classes by their name in files. A name in files never changes, even if its class is renamed.
RECORDS = {name: getattr(kernels, name) for name in kernels.__all__ if name not in _FUNCTIONS + _BASES}
# Kernels on objects, and objects.
RECORDS |= {name: getattr(module, name) for module in (graphs, sequences, sets, strings) for name in module.__all__}
RECORDS |= {
    "Certificate": Certificate,
    "Coordinates": Coordinates,
    "Distances": Distances,
    "Exact": Exact,
    "FittedScores": FittedExpansion,
    "FixedPoint": FixedPoint,
    "Flow": Flow,
    "Gradient": Gradient,
    "Learned": Learned,
    "Mistakes": Mistakes,
    "Projected": Projected,
    "Search": Search,
    "TangentFeatures": TangentFeatures,
    "Thickening": Thickening,
}

# Records that move rows, of which a file may contain partial functions.
TRANSFORMS = (Flow, Thickening)

ESTIMATORS = {
    name: getattr(estimators, name) for name in estimators.__all__ if isinstance(getattr(estimators, name), type)
}
ESTIMATORS["InvariantMap"] = InvariantMap

# Estimators of scikit-learn whose fitted state is a few arrays of fixed meaning: scalers before a model, and linear
# models inside Kernelized. They are imported on use.
SCIKIT_LEARN = dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), "preprocessing")
SCIKIT_LEARN |= dict.fromkeys(
    ("ElasticNet", "Lasso", "LinearRegression", "LogisticRegression", "Ridge"), "linear_model"
)
SCIKIT_LEARN |= dict.fromkeys(("LinearSVC", "LinearSVR"), "svm")

# Attributes that no prediction needs: functions, sums over points that only ``partial_fit`` continues, and values
# that predictions compute of other attributes.
LEFT_OUT = ("scorer_", "_skl_callbacks", "_moments", "_prepared")
# Whether a transformer returns tables, whose columns the next step expects by name; and what set_fit_request sets.
_SETTINGS = "_sklearn_output_config", ATTRIBUTE
_FITTED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
_PRIVATE = re.compile(r"_[a-z][a-z0-9_]*")


def storable(record: Any) -> Any:
    """Allow a frozen dataclass in model files, under the name of its class, which must then stay; a decorator.

    Its fields hold arrays, numbers, strings, kernels, expansions, records, and tuples, lists and dicts of these. A
    class that is defined again, by a notebook or when its module is read again, replaces the earlier one.
    """
    if not _is_same(RECORDS.setdefault(record.__name__, record), record):
        raise ValueError(f"the record name {record.__name__!r} is taken by another class of model files; rename it.")
    RECORDS[record.__name__] = record
    return record


def _is_same(one, other):
    """Return whether two classes are one, or definitions of one at different times."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def record_name(cls: type[Any]) -> str | None:
    """Return the name of a kernel or record class in files, or None; a subclass is another class."""
    return next((name for name, known in RECORDS.items() if _is_same(known, cls)), None)


def estimator(name: str) -> type[Any]:
    """Return the class of an estimator by its name in files, or raise a ValueError."""
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    if name not in SCIKIT_LEARN:
        raise ValueError(f"{shown(name)} is not an estimator that a model file may contain.")
    return getattr(importlib.import_module(f"sklearn.{SCIKIT_LEARN[name]}"), name)


def listed_estimators() -> str:
    """Return the names of all estimators that a file may contain, for messages."""
    return f"the estimators of Mercer and, of scikit-learn, Pipeline, {', '.join(SCIKIT_LEARN)}"


def is_storable_estimator(thing: Any) -> bool:
    """Return whether a file may contain an object as an estimator; a subclass is another class."""
    name = type(thing).__name__
    return (name in ESTIMATORS or name in SCIKIT_LEARN) and estimator(name) is type(thing)


def is_fitted_attribute(cls: type[Any], name: str) -> bool:
    """Return whether a file may set an attribute: one that fits set and that the class itself does not define."""
    private = name in _SETTINGS or (_PRIVATE.fullmatch(name) and cls.__name__ not in SCIKIT_LEARN)
    if not (private or _FITTED.fullmatch(name)):
        return False
    defined = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return defined is None or isinstance(defined, functools.cached_property)
