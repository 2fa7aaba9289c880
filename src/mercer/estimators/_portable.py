"""Estimators of arrays of other libraries: a model of NumPy arrays, whose results and attributes are put where X is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer._compute.devices import Place, computing_on, moved, place_of

# Methods that fit from nothing, and all methods that depend on data and are portable.
_FRESH = {"fit", "fit_transform", "fit_predict"}
_METHODS = _FRESH | {
    "partial_fit",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "inverse_transform",
    "score",
    "score_samples",
    "residual",
    "variance",
    "denoise",
    "reconstruct",
    "to_expansion",
    "__mercer_certify__",
}


@dataclass
class Hosted:
    """A fitted model of NumPy arrays, and the attributes that its owner has at a place instead."""

    model: Any
    shown: dict[str, Any]
    place: Place


class Portable:
    """Mixin of estimators that take arrays of other libraries: solvers use a copy of them in the main memory.

    Blocks of kernel values, and their products with coefficients, are computed on the device of the arrays.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if name in _METHODS and callable(value):
                setattr(cls, name, portable(value))
            elif isinstance(value, property) and name.endswith("_"):
                setattr(cls, name, property(portable(value.fget), doc=value.__doc__))
            elif isinstance(value, functools.cached_property):
                value.func = portable(value.func)
        # the score of a mixin of scikit-learn takes arrays in the main memory only
        for mixin in cls.__bases__:
            if not issubclass(mixin, Portable) and getattr(cls, "score", None) is vars(mixin).get("score", cls):
                cls.score = portable(cls.score)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def __mercer_place__(self) -> Place | None:
        hosted = vars(self).get("_hosted")
        return hosted and hosted.place

    def __mercer_move__(self, place: Place | None) -> Any:
        hosted = vars(self).get("_hosted")
        if hosted is None:
            model = object.__new__(type(self))
            model.__dict__ = {name: moved(value, None) for name, value in vars(self).items()}
        else:
            model = hosted.model
            # attributes that were set since
            for name, value in vars(self).items():
                if name != "_hosted" and hosted.shown.get(name, hosted) is not value:
                    vars(model)[name] = moved(value, None)
                    hosted.shown[name] = value
        return model if place is None else _shown_at(place, model, {})


def portable(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of an estimator that takes arrays of other libraries too."""
    name = method.__name__

    @functools.wraps(method)
    def called(self, *args, **options):
        own = place_of(self)
        if own is None and not any(place_of(each) for each in (*args, *options.values())):
            return method(self, *args, **options)
        given = args[0] if args else options.get("X")
        place = own if given is None else place_of(given)
        fitted = any(each.endswith("_") for each in vars(self))
        if name not in _FRESH and fitted and place != own:
            raise ValueError(
                f"Inputs passed to {type(self).__name__}.{name}() must use the same namespace and the same device as "
                f"those of fit(): got {place or 'NumPy'}, fit() had {own or 'NumPy'}; move X there, or fit again."
            )
        model = moved(self, None)
        with computing_on(place):
            found = method(model, *moved(args, None), **moved(options, None))
        if name in _FRESH or name == "partial_fit":
            self.__dict__ = vars(model) if place is None else vars(_shown_at(place, model, vars(self)))
        if found is model:
            return self
        return found if place is None or name == "__mercer_certify__" else moved(found, place)

    return called


def _shown_at(place, model, given):
    """Return a model whose attributes have arrays at a place; those of ``given`` that are parameters replace them."""
    params = model.get_params(deep=False)
    shown = {
        name: value if name in params or name.startswith("_") else moved(value, place)
        for name, value in vars(model).items()
    } | {name: value for name, value in given.items() if name in params}
    owner = object.__new__(type(model))
    owner.__dict__ = shown | {"_hosted": Hosted(model, shown, place)}
    return owner
