"""The register of classes that model files may hold, which the module of each class fills."""

from functools import partial
from typing import TypeVar

T = TypeVar("T", bound=type)

# Classes by their name in files. A name in files never changes, even if its class is renamed.
CLASSES: dict[str, type] = {}


def storable(cls: T, name: str | None = None) -> T:
    """Allow a class in model files, under its name, which must then stay; a decorator.

    The class is an estimator or a frozen dataclass, whose fields hold arrays, numbers, strings, kernels, expansions,
    records, and tuples, lists and dicts of these. A class that is defined again, by a notebook or when its module is
    read again, replaces the earlier one.
    """
    name = name or cls.__name__
    if not _is_same(CLASSES.setdefault(name, cls), cls):
        raise ValueError(
            f"the record name {name!r} is taken by another class of model files; rename it."
        )
    CLASSES[name] = cls
    return cls


def storable_as(name: str) -> partial:
    """Return the decorator of a class whose name in files differs from its name."""
    return partial(storable, name=name)


def name_in_files(cls: type) -> str | None:
    """Return the name of a class in files, or None; a subclass is another class."""
    return next((name for name, known in CLASSES.items() if _is_same(known, cls)), None)


def _is_same(one, other):
    """Return whether two classes are one, or definitions of one at different times."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
