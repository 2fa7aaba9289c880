"""Checks of new classes of kernels: what a class lacks is named where it is defined, or where it is first used."""

import functools
import inspect
from typing import Any

from mercer._elsewhere import refuse_call

_DECORATOR = "@dataclass(frozen=True, eq=False)"
# Arguments of the members of the protocol, after self.
PROTOCOL = {
    "evaluate": ("tile",),
    "diagonal": ("points",),
    "gradient": ("tile", "W"),
    "diagonal_gradient": ("points", "w"),
}


def check_class(new: type) -> None:
    """Raise a TypeError for a class that defines what ``Kernel`` or the dataclass defines, or has a wrong member."""
    name = new.__name__
    own = vars(new)
    if "__call__" in own:
        raise TypeError(
            f"{name} must not define __call__, which validates points; define evaluate(tile), or profile in a subclass "
            "of Radial or Dot, or give your function of two blocks to mercer.FunctionKernel."
        )
    if "__init__" in own:
        raise TypeError(
            f"{name} must not define __init__; declare parameters as fields of a {_DECORATOR} class."
        )
    for member, arguments in PROTOCOL.items():
        if inspect.isfunction(own.get(member)) and not _takes(own[member], "self", *arguments):
            blocks = (
                "; tile.X and tile.Z are the two blocks of points" if "tile" in arguments else ""
            )
            raise TypeError(
                f"{name}.{member} takes {_listed(own[member])}, but is called as {member}({', '.join(arguments)}); "
                f"define {member}(self, {', '.join(arguments)}){blocks}."
            )
    if "profile" in own and getattr(new, "scalar", None) is not None:
        _check_profile(f"{name}.profile", own["profile"])


def _check_profile(name, profile):
    if not isinstance(profile, staticmethod):
        raise TypeError(
            f"{name} must be a static method, profile(xp, s, *parameters, order=0); add @staticmethod."
        )
    signature = inspect.signature(profile.__func__)
    try:
        signature.bind_partial(order=0)
    except TypeError:
        raise TypeError(
            f"{name} must take order=0 as its last argument, and return the derivative of that order at s, up to 4; "
            f"it takes {', '.join(signature.parameters)}."
        ) from None


def check_use(kernel_class: type, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raise a TypeError where a class cannot be used, or where a value is given for a field that lacks a type."""
    _check_complete(kernel_class)
    fields = _fields(kernel_class)
    if len(values) > len(fields) or any(name not in fields for name in named):
        hint = _hint(kernel_class)
        if hint:
            raise TypeError(
                f"{kernel_class.__name__} has the parameters ({', '.join(fields)}); {hint}."
            )
        if not fields and values:
            raise TypeError(
                f"{kernel_class.__name__} has no parameters; values are kernel(X, Z) of an object; "
                "kernels with parameters are mercer.Gaussian(0.1), ..."
            )
        refuse_call(kernel_class, values, named)


@functools.lru_cache(maxsize=256)
def _check_complete(kernel_class):
    """Raise a TypeError for a class with parameters that is not itself a dataclass, or has no or a wrong profile."""
    name = kernel_class.__name__
    hints = vars(kernel_class).get("__annotations__", {})
    parameters = [field for field, hint in hints.items() if "ClassVar" not in str(hint)]
    if parameters and "__dataclass_fields__" not in vars(kernel_class):
        raise TypeError(
            f"{name} declares {', '.join(parameters)}, but is not a dataclass; write {_DECORATOR} above the class."
        )
    for member in ("term", "profile"):
        if getattr(getattr(kernel_class, member, None), "__isabstractmethod__", False):
            raise TypeError(
                f"{name} must define {member}, a static method with the formula of the kernel."
            )
    if getattr(kernel_class, "scalar", None) is None or not inspect.isfunction(
        getattr(kernel_class, "profile", None)
    ):
        return
    fields = _fields(kernel_class)
    if not _takes(kernel_class.profile, "xp", "s", *fields, order=0):
        hint = _hint(kernel_class)
        expected = ", ".join(("xp", "s", *fields))
        raise TypeError(
            f"{name}.profile takes {_listed(kernel_class.profile)}, but must take {expected} and order=0: the "
            f"functions, the argument, one parameter per field, the order{hint and '; ' + hint}."
        )


def _fields(kernel_class):
    """Return the names of the parameters of a dataclass, in order."""
    return getattr(kernel_class, "__match_args__", ())


def _hint(kernel_class):
    """Return how to make fields of the numbers that a class defines without a type; empty if it has none."""
    own = vars(kernel_class)
    bare = [
        f"{name}: {type(value).__name__} = {value!r}"
        for name, value in own.items()
        if type(value) in (int, float)
        and not name.startswith("_")
        and name not in own.get("__annotations__", {})
    ]
    return f"a field needs a type: write {', '.join(bare)}" if bare else ""


def _takes(function, *values, **named):
    """Return whether a function can be called with some arguments."""
    try:
        inspect.signature(function).bind(*values, **named)
    except TypeError:
        return False
    return True


def _listed(function):
    return ", ".join(inspect.signature(function).parameters)
