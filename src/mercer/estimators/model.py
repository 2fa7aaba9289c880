"""Model, the mixin of all estimators: fits that change all or nothing, read-only arrays, arrays of other libraries.

Solvers take arrays of NumPy. A model that is fitted to arrays of another library is a model of NumPy's arrays and a
record of its attributes at the place of the others; blocks of kernel values, and their products, are computed there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, is_dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    TypeVar,
    cast,
    dataclass_transform,
)

import numpy as np
import scipy.sparse as sp
from sklearn import config_context, get_config
from sklearn.utils.metaestimators import available_if

from mercer._common import AnyFunction
from mercer._compute.devices import Place, computing_on, moved, place_of
from mercer._compute.points import owned
from mercer._compute.register import storable
from mercer._compute.threads import serial_blas
from mercer._elsewhere import explain_class, explained, refuse_attribute, refuse_unknown
from mercer._progress import CallbackSupportMixin, progress
from mercer.solvers.certify import Certificate

_F = TypeVar("_F", bound=AnyFunction)
_C = TypeVar("_C", bound=type[Any])
# Types of arguments that have no place, and need no look at theirs.
_PLAIN = frozenset([np.ndarray, type(None)])
# Entries of a model that its copies and files do not have: values prepared of its arrays, and whether a fit is open.
_TRANSIENT = ("_prepared", "_open")


@dataclass_transform(eq_default=False, kw_only_default=True)
def estimator_mixin(cls: _C) -> _C:
    """Make the keyword-only parameters of a class that estimators inherit the fields of a dataclass."""
    return dataclass(eq=False, repr=False, kw_only=True)(cls)


@dataclass_transform(eq_default=False)
def storable_estimator(cls: _C) -> _C:
    """Make the parameters of an estimator the fields of a dataclass, and allow it in model files, under its name."""
    return storable(dataclass(eq=False, repr=False)(cls))


@dataclass
class Hosted:
    """A fitted model of NumPy arrays, and the attributes that its owner has at a place instead."""

    model: Any
    shown: dict[str, Any]
    place: Place


class Model(CallbackSupportMixin):
    """Mixin of estimators with callbacks, of arrays of any library, whose public arrays are read-only.

    To assign another array replaces the earlier one, all that was prepared of it, and the attributes that state the
    same; the model takes a copy. A fit is open: it stores new arrays without a copy, and makes them read-only at its
    end.
    """

    # Arrays that have NaN where there is no number.
    _with_gaps: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        explain_class(cls)

    def __new__(cls, *values: Any, **params: Any) -> Any:
        """Return a model, or raise if the class has no such parameter."""
        # before __init__, whose error would not say what to write instead
        if is_dataclass(cls):
            refuse_unknown(cls, values, params)
        return super().__new__(cls)

    def __setattr__(self, name: str, value: object) -> None:
        if name.endswith("_") and not name.startswith("_"):
            state = vars(self)
            state["_prepared"] = {}
            if "_open" not in state:
                if name not in self._with_gaps and _has_nan(value):
                    raise ValueError(f"{name} must have no NaN; assign numbers, or fit again.")
                value = owned(value)
                # attributes of a model at a place are those of its model of NumPy's arrays
                implied = {} if "_hosted" in state else self._implied(name, value)
                state |= {other: owned(each) for other, each in implied.items()}
        super().__setattr__(name, value)

    def _implied(self, _name: str, _value: Any) -> dict[str, Any]:
        """Return the attributes that state the same as one that is assigned: predictions, files and errors agree."""
        return {}

    def _prepare(self, key, compute):
        """Return ``compute()``, called once for a key and the present attributes of a fitted model."""
        values = vars(self)["_prepared"]
        if key not in values:
            values[key] = compute()
        return values[key]

    def _refuse_weights(self, sample_weight):
        """Raise if sample weights are given for a model that is fitted without any."""
        if sample_weight is not None:
            raise ValueError(
                f"sample_weight must be None for {type(self).__name__}, whose fit takes no weights."
            )

    def __getattr__(self, name: str) -> Any:
        if not hasattr(type(self), name):
            refuse_attribute(self, name)
        try:
            # an attribute that refuses says why once more
            return object.__getattribute__(self, name)
        except AttributeError as error:
            if error.__cause__ is None:
                raise
            # scikit-learn leaves the reason to the cause
            raise AttributeError(f"{error}; {error.__cause__}") from error.__cause__

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _TRANSIENT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        _close(self, _fitted(self))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def __mercer_place__(self) -> Place | None:
        hosted = vars(self).get("_hosted")
        return hosted and hosted.place

    def __mercer_move__(self, place: Place | None) -> Model:
        hosted = vars(self).get("_hosted")
        if hosted is None:
            model = object.__new__(type(self))
            model.__dict__ = {name: moved(value, None) for name, value in vars(self).items()}
        else:
            model = hosted.model
            # attributes that were set since
            for name, value in vars(self).items():
                if name != "_hosted" and hosted.shown.get(name, hosted) is not value:
                    setattr(model, name, moved(value, None))
                    hosted.shown[name] = value
        if place is None:
            return model
        owner = object.__new__(type(model))
        owner.__dict__ = _shown_at(place, model, {})
        return owner


def fits(method: _F, fresh: bool = True) -> _F:
    """Return a method that fits a model to arrays of any library; an error leaves the model as it was.

    Callbacks hear of the steps, BLAS takes one thread but for long products, blocks of kernel values are computed at a
    place. At the end arrays become read-only, and move to the place. A ``fresh`` fit forgets the one before.
    """

    @functools.wraps(method)
    def called(self, *args, **options):
        place = None
        if _have_places(args, options):
            place = place_of(args[0] if args else options.get("X"))
            args = moved(args, None)
            options = moved(options, None)
        before = vars(self)
        try:
            device = _open(self, place, fresh)
            # a context of scikit-learn takes as long as a small solution
            numpy = (
                config_context(array_api_dispatch=False)
                if get_config()["array_api_dispatch"]
                else nullcontext()
            )
            with device, numpy, progress(self), serial_blas:
                found = method(self, *args, **options)
            if "_open" not in before:
                _end(self, place, before)
        except BaseException:
            # one assignment, so that a second Ctrl-C cannot leave half of the attributes
            self.__dict__ = before
            raise
        return found if found is self or place is None else moved(found, place)

    return cast("_F", called)


def adds(method: _F) -> _F:
    """Return a method that adds points to a fit."""
    return fits(method, fresh=False)


def _open(model, place, fresh):
    """Open a model, and return the context in which its blocks of kernel values are computed at a place."""
    before = state = vars(model)
    if "_hosted" in before or place is not None:
        if not fresh:
            _require_place(model, "partial_fit", place, place_of(model))
        state = vars(moved(model, None))
    given = {name: value for name, value in state.items() if not (fresh and name.endswith("_"))}
    model.__dict__ = given | {"_open": True}
    return nullcontext() if state is before else computing_on(place)


def _end(model, place, before):
    """Close a fit, and move its arrays to a place.

    Raise if a fitted attribute is not a number: comparisons with NaN are false, and pass for small errors.
    """
    del vars(model)["_open"]
    fitted = _fitted(model)
    gaps = model._with_gaps  # noqa: SLF001 - of this module
    for name, value in fitted.items():
        if name not in gaps and _has_nan(value):
            raise ValueError(
                f"{name} of {type(model).__name__} would be NaN: numbers overflow, such as kernel values of a "
                "large degree or of rows far from the origin; scale X (StandardScaler), or give other parameters."
            )
    _close(model, fitted)
    if place is not None:
        host = object.__new__(type(model))
        host.__dict__ = vars(model)
        model.__dict__ = _shown_at(place, host, before)


def on_device(method: _F) -> _F:
    """Return a method of a fitted model that takes arrays of other libraries too, and returns arrays at their place."""
    name = method.__name__

    @functools.wraps(method)
    def called(self, *args, **options):
        if "_hosted" not in vars(self) and not _have_places(args, options):
            return method(self, *args, **options)
        own = place_of(self)
        given = args[0] if args else options.get("X")
        place = own if given is None else place_of(given)
        _require_place(self, name, place, own)
        with computing_on(place):
            found = method(moved(self, None), *moved(args, None), **moved(options, None))
        return found if place is None else moved(found, place)

    return cast("_F", called)


def of_points(method: _F) -> _F:
    """Return a method of new points that takes those of other libraries, rows on disk, and Dask arrays too.

    Rows on disk are read block by block. The result for a Dask array is another one.
    """

    @functools.wraps(method)
    def by_blocks(self, X, **options):
        blocks = self._new_blocks(X)
        if blocks is None:
            return method(self, X, **options)
        return blocks.apply(functools.partial(method, **options), self._for_blocks(X))

    anywhere = on_device(by_blocks)

    @functools.wraps(method)
    def called(self, *values, **options):
        plain = values and type(values[0]) is np.ndarray and "_hosted" not in vars(self)
        return (method if plain else anywhere)(self, *values, **options)

    return cast("_F", called)


def available(check: Callable[[Any], bool]) -> Any:
    """Return the decorator of a method that models have if a check does not raise an AttributeError."""
    return lambda method: available_if(check)(explained(method))


if TYPE_CHECKING:
    attribute = property
else:

    def attribute(compute):
        """Return the property of an attribute that is computed from others, an array at their place."""
        return property(on_device(compute), doc=compute.__doc__)


def _have_places(args, options):
    """Return whether some of the arguments of a method are arrays of another library."""
    given = (*args, *options.values())
    return not _PLAIN.issuperset(map(type, given)) and any(map(place_of, given))


def _require_place(model, name, place, own):
    """Raise unless data are at the place of a fitted model."""
    if place != own and _fitted(model):
        raise ValueError(
            f"Inputs passed to {type(model).__name__}.{name}() must use the same namespace and the same device as "
            f"those of fit(): got {place or 'NumPy'}, fit() had {own or 'NumPy'}; move X there, or fit again."
        )


def _shown_at(place, model, given):
    """Return the attributes of a model with arrays at a place; those of ``given`` that are parameters replace them."""
    params = model.get_params(deep=False)
    shown = {
        name: value if name in params or name.startswith("_") else moved(value, place)
        for name, value in vars(model).items()
    } | {name: value for name, value in given.items() if name in params}
    return shown | {"_hosted": Hosted(model, shown, place)}


def _fitted(model):
    """Return the attributes of a fit."""
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


def _close(model, fitted):
    """Make the public arrays of a fitted model read-only."""
    vars(model)["_prepared"] = {}
    for value in fitted.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif sp.issparse(value):
            for part in (value.data, value.indices, value.indptr):
                part.flags.writeable = False


def _has_nan(value):
    """Whether a value is NaN, or an array of real numbers or a certificate of which one is."""
    if isinstance(value, np.ndarray):
        # a minimum is NaN if a number is
        return value.dtype.kind == "f" and math.isnan(
            np.minimum.reduce(value, axis=None, initial=0.0)
        )
    if isinstance(value, Certificate):
        return any(map(math.isnan, (value.primal, value.dual, value.kkt)))
    return isinstance(value, float) and math.isnan(value)
