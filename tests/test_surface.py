"""The surface of the library: budgets of names, names that do not clash, docstrings with examples, short files."""

import dataclasses
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import mercer
from mercer.kernels.base import Kernel

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "mercer"
FILES = sorted(SOURCE.rglob("*.py"))
CLASSES = [getattr(mercer, name) for name in mercer.__all__ if inspect.isclass(getattr(mercer, name))]
KERNELS = [cls for cls in CLASSES if issubclass(cls, Kernel)]
NAMES = [pytest.param(name, id=name) for name in mercer.__all__]


def test_the_public_names_are_sorted_and_exist():
    assert list(mercer.__all__) == sorted(mercer.__all__)
    assert [name for name in mercer.__all__ if not hasattr(mercer, name)] == []


@pytest.mark.parametrize(
    ("cls", "budget"), [(Kernel, 6), (mercer.Gram, 6), (mercer.Expansion, 12)], ids=["Kernel", "Gram", "Expansion"]
)
def test_the_objects_keep_to_their_budget_of_names(cls, budget):
    names = _own_names(cls)
    assert len(names) <= budget, names


@pytest.mark.parametrize("cls", KERNELS, ids=lambda cls: cls.__name__)
def test_no_public_kernel_adds_a_name_to_those_of_kernels(cls):
    assert _own_names(cls) <= _own_names(Kernel)


def test_no_module_bears_the_name_of_a_public_function():
    modules = {info.name.rpartition(".")[2] for info in pkgutil.walk_packages([str(SOURCE)], "mercer.")}
    functions = {name for name in mercer.__all__ if inspect.isroutine(getattr(mercer, name))}
    assert modules & functions == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_public_function_and_class_shows_an_example_that_runs(name):
    thing = getattr(mercer, name)
    if inspect.ismodule(thing):
        thing = importlib.import_module(thing.__name__)
        assert thing.__doc__
    elif inspect.isclass(thing) or inspect.isroutine(thing):
        text = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
        assert text, f"{name} has no docstring of its own"
        assert "Examples\n" in text, f"{name} has no section Examples"
        assert ">>> " in text, f"{name} has no example"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_source_file_is_short_or_says_in_its_first_comment_why_not(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 400 or lines[0].startswith("#")


@pytest.mark.parametrize(
    "path", [path for path in FILES if not path.name.startswith("__")], ids=lambda path: str(path.relative_to(SOURCE))
)
def test_every_source_file_has_its_test_file(path):
    mirror = TESTS / path.relative_to(SOURCE).with_name(f"test_{path.name}")
    assert mirror.is_file(), f"write {mirror.relative_to(TESTS.parent)}"


def test_every_folder_of_tests_is_a_package_of_the_source():
    # experiments stand beside the source, and are tested like it
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path("experiments")}
    assert [folder for folder in folders if not (SOURCE / folder).is_dir()] == []


def _own_names(cls):
    """Public names aside from the fields and from the formulas, which are static: profiles and their like."""
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    formulas = {name for name in dir(cls) if isinstance(inspect.getattr_static(cls, name), staticmethod)}
    return {name for name in dir(cls) if not name.startswith("_")} - fields - formulas
