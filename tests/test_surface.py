"""Public names: they are few, have docstrings with examples, and errors of their arguments are short."""

import dataclasses
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest
from tests import public

import mercer
import mercer as mc
from mercer.kernels.base import Kernel

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "mercer"
CLASSES = [getattr(mercer, name) for name in public.NAMES if inspect.isclass(getattr(mercer, name))]
KERNELS = [cls for cls in CLASSES if issubclass(cls, Kernel)]
# The extension protocol, apart from the names for users.
PROTOCOL = {
    Kernel: {
        "admit",
        "diagonal",
        "diagonal_gradient",
        "evaluate",
        "explicit",
        "gradient",
        "multiplications",
        "multiply",
        "rules",
        "scalar",
        "unresolved",
    },
    mercer.Expansion: {"dense_coef", "prepared"},
}
# Functions of one object, or of one file format, live with it.
LIVES_IN = dict.fromkeys(("features", "mean", "mmd", "sqdist"), "expansion") | dict.fromkeys(
    ("qr", "svd"), "factor"
)
LIVES_IN |= {
    "lstsq": "least_squares",
    "project": "projection",
    "load": "model_file",
    "save": "model_file",
}
LIVES_IN |= dict.fromkeys(("hsic_test", "ksd_test", "mmd_test"), "permutation_tests")
LIVES_IN |= dict.fromkeys(("patch_sklearn", "unpatch_sklearn"), "switch")
NAMES = [pytest.param(name, id=name) for name in public.NAMES]


def test_the_public_names_are_few_distinct_and_exist():
    assert len(mercer.__all__) <= 70
    assert len(set(mercer.__all__)) == len(mercer.__all__)
    assert [name for name in mercer.__all__ if not hasattr(mercer, name)] == []


@pytest.mark.parametrize(
    ("cls", "budget"),
    [(Kernel, 6), (mercer.Gram, 6), (mercer.Expansion, 12)],
    ids=["Kernel", "Gram", "Expansion"],
)
def test_the_objects_have_few_public_names(cls, budget):
    names = _own_names(cls) - PROTOCOL.get(cls, set())
    assert len(names) <= budget, names


@pytest.mark.parametrize("cls", KERNELS, ids=lambda cls: cls.__name__)
def test_no_kernel_has_more_public_names_than_the_base_class(cls):
    assert _own_names(cls) <= _own_names(Kernel)


def test_the_private_names_in_the_root_are_few():
    names = {
        path.name
        for path in SOURCE.iterdir()
        if path.name.startswith("_") and path.name != "__pycache__"
    }
    private = {"_common.py", "_compute", "_elsewhere.py", "_progress.py"}
    assert names == {"__init__.py", "__main__.py", *private}


def test_every_public_function_is_found_by_file_name():
    functions = {
        name: getattr(mercer, name)
        for name in public.NAMES
        if inspect.isroutine(getattr(mercer, name))
    }
    files = {
        name: function.__module__.rpartition(".")[2].lstrip("_")
        for name, function in functions.items()
    }
    assert {
        name: file for name, file in files.items() if file not in (name, LIVES_IN.get(name))
    } == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_public_function_and_class_has_an_example(name):
    thing = getattr(mercer, name)
    if inspect.ismodule(thing):
        thing = importlib.import_module(thing.__name__)
        assert thing.__doc__
    elif inspect.isclass(thing) or inspect.isroutine(thing):
        text = thing.__dict__.get("__doc__") if inspect.isclass(thing) else thing.__doc__
        assert text, f"{name} has no docstring of its own"
        assert "Examples\n" in text, f"{name} has no section Examples"
        assert ">>> " in text, f"{name} has no example"


def test_every_folder_of_tests_is_a_package_of_the_source():
    # experiments and tools are tested too; the tests of scikit-learn and of bad input concern all packages
    others = map(Path, ("experiments", "tools", "scikit_learn", "trust"))
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}.difference(
        others
    )
    assert [folder for folder in folders if not (SOURCE / folder).is_dir()] == []


def _own_names(cls):
    """Return the public names without fields and without static methods, which are formulas such as profiles."""
    fields = (
        {field.name for field in dataclasses.fields(cls)}
        if dataclasses.is_dataclass(cls)
        else set()
    )
    formulas = {
        name for name in dir(cls) if isinstance(inspect.getattr_static(cls, name), staticmethod)
    }
    return {name for name in dir(cls) if not name.startswith("_")} - fields - formulas


LONG = {
    "digits": 10**5000,
    "text": "a" * 10**5,
    "list": [0] * 10**5,
    "record": {"a" * 10**5: 10**5000},
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
@pytest.mark.parametrize(
    "name",
    [
        "SVC",
        "NuSVC",
        "SVCCV",
        "SVR",
        "SVRCV",
        "QuantileSVR",
        "OneClassSVM",
        "SVDD",
        "KernelRidge",
        "KernelPCA",
        "KernelFisher",
        "KernelPerceptron",
        "PCAL1",
        "Nystroem",
        "KernelMap",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_errors_of_parameters_are_short_whatever_the_value(name, value):
    X, y = np.arange(24.0).reshape(12, 2) % 7, np.arange(12) % 2
    make = getattr(mc, name)
    messages = []
    for parameter in make().get_params(deep=False):
        try:
            make(**{parameter: value}).fit(X, y)
        except (TypeError, ValueError) as error:
            messages.append(str(error))
    assert messages
    assert max(map(len, messages)) < 600
    assert not any("Exceeds the limit" in message for message in messages)


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
@pytest.mark.parametrize(
    "call",
    [
        lambda value: mc.features(value, [[1.0]]),
        lambda value: mc.SVC(kernel=value).fit([[1.0], [2.0]], [0, 1]),
        lambda value: mc.svd(mc.features(mc.Linear(), [[1.0], [2.0]]), value),
        lambda value: mc.reduce(mc.features(mc.Linear(), [[1.0], [2.0]]), value),
        lambda value: mc.Linear() ** value,
        lambda value: mc.load(value),
        lambda value: mc.as_expansion(value),
        lambda value: mc.compress(mc.SVC().fit([[1.0], [2.0]], [0, 1]), n_vectors=value),
    ],
)
def test_errors_of_functions_are_short_whatever_the_value(call, value):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(value)
    assert len(str(caught.value)) < 600
    assert "Exceeds the limit" not in str(caught.value)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "KernelFisher", "KernelPerceptron"])
def test_errors_of_labels_are_short_whatever_the_classes(name):
    X, y, make = np.arange(6.0)[:, None], ["a" * 10**5, "b" * 10**5] * 3, getattr(mc, name)
    model = make().fit(X, y)
    calls = [lambda: make().fit(X, y[::2] * 2), lambda: mc.certify(model, X, ["q", "r"] * 3)]
    if hasattr(model, "class_weight"):
        calls += [
            lambda: make(class_weight={"z": 1}).fit(X, y),
            lambda: mc.compress(model, X, ["q"] * 6, n_vectors=2),
        ]
    for call in calls:
        with pytest.raises(ValueError, match=r"class|label") as caught:
            call()
        assert len(str(caught.value)) < 600
