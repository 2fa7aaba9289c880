"""The closed lists of what a model file may hold: kernels, records, estimators; a file names none outside of them."""

import dataclasses
import functools
import importlib
import re

from mercer import estimators, kernels
from mercer.formats._as_expansion import FittedScores
from mercer.kernels.base import Kernel
from mercer.maps.coordinates import Coordinates
from mercer.preimages import Distances, Exact, FixedPoint, Gradient, Learned
from mercer.solvers._certify import Certificate
from mercer.solvers.perceptron import Mistakes

# Kernels that are code: a file of data cannot hold them. The others without a class of their own are bases.
_CODE = ("FeatureMap", "FunctionKernel")
_BASES = ("Coordinatewise", "Dot", "Kernel", "Radial", "Tags")

RECORDS = {name: getattr(kernels, name) for name in kernels.__all__ if name not in _CODE + _BASES}
RECORDS |= {
    cls.__name__: cls
    for cls in (Certificate, Coordinates, Distances, Exact, FittedScores, FixedPoint, Gradient, Learned, Mistakes)
}

ESTIMATORS = {
    name: getattr(estimators, name) for name in estimators.__all__ if isinstance(getattr(estimators, name), type)
}

# Estimators of scikit-learn whose fitted state is a few arrays of fixed meaning: scalers before a model, and linear
# models inside Kernelized. They load when one is asked for.
_FOREIGN = {
    "StandardScaler": "preprocessing",
    "MinMaxScaler": "preprocessing",
    "MaxAbsScaler": "preprocessing",
    "RobustScaler": "preprocessing",
    "ElasticNet": "linear_model",
    "Lasso": "linear_model",
    "LinearRegression": "linear_model",
    "LogisticRegression": "linear_model",
    "Ridge": "linear_model",
    "LinearSVC": "svm",
    "LinearSVR": "svm",
}

# Attributes that are functions; nothing needs them to predict.
LEFT_OUT = ("scorer_", "_skl_callbacks")
# Whether a transformer returns tables, which names the columns that a later step was fitted on.
_OUTPUT = "_sklearn_output_config"
_FITTED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
_PRIVATE = re.compile(r"_[a-z][a-z0-9_]*")


def storable(record):
    """Add a frozen dataclass of Mercer to those that model files may hold; usable as a decorator.

    Parameters
    ----------
    record : type
        Its fields hold arrays, numbers, strings, kernels, expansions, other records, and tuples, lists and dicts of
        them. The name in the file is that of the class, so it must stay.

    Returns
    -------
    type
        The record itself.

    Raises
    ------
    ValueError
        For a name that another class has.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from mercer.formats.allowlist import RECORDS, storable
    >>> @storable
    ... @dataclass(frozen=True)
    ... class Remark:
    ...     text: str
    >>> RECORDS.pop("Remark") is Remark
    True
    """
    if RECORDS.setdefault(record.__name__, record) is not record:
        raise ValueError(f"model files know another record called {record.__name__}.")
    return record


def estimator(name):
    """Return the class of an estimator by its name in a file.

    Raises
    ------
    ValueError
        For a name that is in none of the lists.
    """
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    if name not in _FOREIGN:
        raise ValueError(f"{name!r} is none of the estimators that a model file may hold.")
    return getattr(importlib.import_module(f"sklearn.{_FOREIGN[name]}"), name)


def is_foreign(name):
    """Return whether an estimator is one of scikit-learn's."""
    return name in _FOREIGN


def listed_estimators():
    """Return the names of all estimators that a file may hold, for messages."""
    return f"{', '.join(ESTIMATORS)}; of scikit-learn Pipeline, {', '.join(_FOREIGN)}"


def is_storable_estimator(thing):
    """Return whether an object is of a class that a file may name; a subclass is another class."""
    name = type(thing).__name__
    return (name in ESTIMATORS or name in _FOREIGN) and estimator(name) is type(thing)


def is_fitted_attribute(cls, name):
    """Return whether a file may set an attribute: one that fits set, and never one that the class defines.

    Parameters
    ----------
    cls : type
    name : str
    """
    private = name == _OUTPUT or (_PRIVATE.fullmatch(name) and not is_foreign(cls.__name__))
    if not (private or _FITTED.fullmatch(name)):
        return False
    defined = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return defined is None or isinstance(defined, functools.cached_property)


def field_names(record):
    """Return the names of the fields of a record or kernel."""
    return [field.name for field in dataclasses.fields(record)]


def is_kernel(thing):
    """Return whether an object is a kernel."""
    return isinstance(thing, Kernel)
