"""Each figure of the shape of the code, counted on small sources."""

from pathlib import Path

import pytest
from tools.shape import (
    File,
    annotations,
    circles,
    functions,
    numbers,
    packed,
    parameters,
    patches,
    places,
    private_imports,
    public_names,
    read,
    table,
    tokens,
    wide,
)

import mercer

SOURCE = '''\
"""First line.

Third line.
"""

# A comment.
import os  # a comment beside code


class Thing:
    """A thing."""

    def name(self):
        """Return its name."""
        # another comment
        return (
            "two "
            "lines"
        )
'''
EIGHT = "a, b, c, d, e, f, g, h"


def file(text, module="mercer.part.file", path="part/file.py"):
    return File(Path(path), module, text)


def test_comments_docstrings_and_layout_are_no_tokens():
    # import os; class Thing:; def name(self):; return ("two " "lines")
    assert tokens(file(SOURCE)) == (2 + 3 + 6 + 5, 7)


def test_a_string_of_several_lines_is_one_token_on_all_of_its_lines():
    assert tokens(file('x = """a\nb\nc"""\n')) == (3, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b = 1, 2", [1]),
        ("x = 0\na, b = b, a", [2]),
        ("def f():\n    a, b = (1, 2)", [2]),
        ("a, b = f()", []),
        ("a, b = [1, 2]", []),
        ("a = 1, 2", []),
    ],
)
def test_an_assignment_of_a_tuple_to_a_tuple_is_packed(text, expected):
    assert packed(file(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SIZE = 3", ["SIZE"]),
        ("_A, _B = 1, 0.5", ["_A", "_B"]),
        ("SHAPE: tuple = (x, 2)", ["SHAPE"]),
        ('NAMES = {"a": f(2)}', ["NAMES"]),
        ('NAME = "2"', []),
        ("FLAG = True", []),
        ("size = 3", []),
        ("TWO: int", []),
        ("def f():\n    SIZE = 3", []),
    ],
)
def test_names_in_capitals_with_a_number_are_constants(text, expected):
    assert numbers(file(text)) == expected


def test_annotations_of_parameters_and_results_are_counted():
    found = annotations(file("x: int = 0\ndef f(a: Any, *b: list[Any], c=1) -> Any: ..."))
    assert sorted(text for _, text in found) == ["Any", "Any", "list[Any]"]


def test_functions_inside_classes_and_functions_have_dotted_names():
    found = dict(
        functions(file("class A:\n    def f(self, a, /, b, *c, d, **e):\n        def g(): ..."))
    )
    assert {name: parameters(node) for name, node in found.items()} == {
        "mercer.part.file.A.f": 4,
        "mercer.part.file.A.f.g": 0,
    }


def test_functions_of_more_than_seven_parameters_are_wide():
    found = wide(
        [
            file(
                f"def seven({EIGHT[:-3]}): ...\ndef eight({EIGHT}): ...\nclass A:\n    def m(self, {EIGHT}): ..."
            )
        ]
    )
    assert [(line, name, number) for _, line, name, number in found] == [
        (2, "eight", 8),
        (4, "A.m", 9),
    ]


def test_public_functions_constructors_and_kernels_of_triton_may_be_wide():
    source = file(
        f"def f({EIGHT}): ...\n@triton.jit\ndef g({EIGHT}): ...\nclass A:\n    def __init__(self, {EIGHT}): ..."
    )
    assert wide([source], {"mercer.part.file.f", "mercer.part.file.A"}) == []


def test_a_compiled_function_may_be_wide_if_one_function_calls_it():
    loop = file(
        f"@compiled\ndef loop({EIGHT}):\n    loop(1)\ndef user():\n    loop(2)\n    loop(3)\n"
    )
    same = file("def another():\n    loop(4)", "mercer.part.other")
    calls = [
        file(
            "from mercer.part.file import loop as go\ndef another():\n    go(4)",
            "mercer.part.other",
        ),
        file("from . import file\ndef another():\n    file.loop(4)", "mercer.part.other"),
    ]
    assert wide([loop, same]) == []
    for call in calls:
        assert [name for _, _, name, _ in wide([loop, call])] == ["loop"]


def test_circles_include_imports_for_type_checking_and_in_functions():
    first = file("if TYPE_CHECKING:\n    from mercer.b import thing", "mercer.a", "a.py")
    second = file("def f():\n    from . import c", "mercer.b", "b.py")
    third = file("import mercer.a\nfrom .d import e", "mercer.c", "c.py")
    last = file("import numpy", "mercer.d", "d.py")
    assert circles([first, second, third, last]) == [["mercer.a", "mercer.b", "mercer.c"]]
    assert circles([first, second, last]) == []


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("from mercer._compute.points import Points", True),
        ("from mercer.factor import _start", True),
        ("from mercer.solvers.svm import _solve_dual as solve", True),
        ("def test():\n    import mercer.kernels._rules", True),
        ("import mercer as mc", False),
        ("from mercer import __version__", False),
        ("from scipy._lib import thing", False),
    ],
)
def test_an_import_is_private_if_a_component_of_its_path_is(text, private):
    assert bool(private_imports(file(text))) is private


def test_patches_are_calls_of_setattr():
    text = "def test(monkeypatch):\n    monkeypatch.setattr(a, 'b', 1)\n    setattr(a, 'b', 1)\n    monkeypatch.undo()"
    assert patches(file(text)) == [2]


def test_public_names_are_those_of_the_library_and_their_methods():
    found = public_names()
    assert f"{mercer.Gaussian.__module__}.Gaussian" in found
    assert f"{mercer.svd.__module__}.svd" in found
    assert f"{mercer.Expansion.__module__}.Expansion.norms" in found
    assert not {name for name in found if name.rpartition(".")[2].startswith("_")}


def test_the_table_has_a_line_for_each_package_and_package_of_the_solvers(tmp_path):
    for name, text in {
        "__init__.py": "",
        "alone.py": "A = 1\n",
        "solvers/svm/loop.py": "from ..ridge import f\nx, y = 1, 2\n",
        "solvers/ridge.py": "from .svm import loop\ndef f(a: Any, b: int): ...\n",
        "kernels/deep/er.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    files = read(tmp_path, "mercer")
    found = places(files, [])
    rows = table(files, found)
    assert list(rows)[-1] == "all"
    assert {*rows} == {"modules", "solvers", "solvers/svm", "kernels", "all"}
    assert rows["solvers/svm"] == {
        "tokens": 13, "files": 1, "a line": 6.5, "packed": 1, "wide": 0, "numbers": 0, "Any": 0.0, "circles": 0,
    }  # fmt: skip
    assert rows["solvers"]["Any"] == 0.5
    assert rows["solvers"]["circles"] == rows["all"]["circles"] == 1
    assert found["circles"][0][1] == "mercer.solvers.ridge, mercer.solvers.svm.loop"
    assert rows["modules"]["numbers"] == 1
