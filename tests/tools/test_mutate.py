"""Mutants: which changes are made, the seed that draws them, and their end in a small project."""

import json

import pytest
from tools.mutate import ROOT, candidates, draw, find_tests, main, mutants

TOY = """\
def positive_part(x):
    return max(x, 0)


def untested(x):
    return x * 3
"""
TEST = """\
from mercer.toy import positive_part


def test_a_negative_number_has_no_positive_part():
    assert [positive_part(x) for x in (-2, 0, 3)] == [0, 0, 3]
"""
COMPILED = """\
from numba import njit


@njit(cache=True)
def double(x):
    return x * 2
"""
TEST_OF_COMPILED = """\
from mercer.loops.double import double


def test_twice():
    assert double(3) == 6
"""


def changed(source):
    """Return the sources of all mutants."""
    return [mutant.apply(source) for mutant in mutants(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y = 0", ["y = 1"]),
        ("y = 2", ["y = 1", "y = 3"]),
        ("y = 3", ["y = 2", "y = 4"]),
        ("y = 4", ["y = 2", "y = 8"]),
        ("y = 100_001", ["y = 50000", "y = 200002"]),
        ("y = 20.0", ["y = 10.0", "y = 40.0"]),
        ("y = 0.5", ["y = 1.0", "y = 1.5"]),
        ("y = 1e-9", ["y = 1.000000001"]),
        ("y = a + b", ["y = a - b"]),
        ("y = (a) / (\n    b)", ["y = (a) * (\n    b)"]),
        ("y = a ** b", ["y = a * b"]),
        ("y += a", ["y -= a"]),
        ("y = -a", ["y = a"]),
        ("y = ~a | b", ["y = a | b", "y = ~a & b"]),
        ("y = not a", ["y =  a"]),
        ("y = a and b or c", ["y = a or b or c", "y = a and b and c"]),
        ("y = a < b", ["y = a > b"]),
        ("y = a >= b == c", ["y = a <= b == c", "y = a >= b != c"]),
        ("y = a is None", ["y = a is not None"]),
        ("y = a not in b", ["y = a in b"]),
        ("y = max(a, b)", ["y = min(a, b)"]),
        (
            "y = np.minimum(a, b).all()",
            ["y = np.maximum(a, b).all()", "y = np.minimum(a, b).any()"],
        ),
    ],
)
def test_each_operator_makes_the_change_that_is_expected(source, expected):
    assert sorted(changed(source)) == sorted(expected)


def test_the_bound_of_a_comparison_with_a_number_is_moved():
    assert {*changed("y = a < 0")} == {"y = a < 1", "y = a > 0", "y = a <= 0"}


@pytest.mark.parametrize(
    "source",
    [
        '"""Text with 1 + 2."""',
        '__all__ = ["a"][0:1]',
        "def f(a: Literal[1]) -> Tuple[2]: pass",
        "@compiled(inline=1)\ndef f(): pass",
        'raise ValueError("at most " + str(2))',
        'y = f"{a + 1}"',
        'y = "a" + b',
        'warnings.warn("a", stacklevel=2)',
        "_log.debug(a + b)",
        "y = True",
    ],
)
def test_texts_annotations_messages_and_logging_are_left(source):
    assert changed(source) == []


def test_a_change_is_made_at_its_place_after_letters_of_several_bytes():
    assert changed("y = 'é'; z = 0  # é") == ["y = 'é'; z = 1  # é"]


def test_the_same_seed_draws_the_same_mutants():
    groups = {"a": mutants(TOY * 5, "a.py"), "b": mutants(TOY * 5, "b.py")}
    first = draw(groups, 5, seed=0)
    assert first == draw(groups, 5, seed=0) != draw(groups, 5, seed=1)
    assert [len(found) for found in first.values()] == [3, 2]


def test_the_find_tests_a_file_are_those_of_its_package_and_begin_with_its_own():
    found = [str(path) for path in find_tests("src/mercer/kernels/dot.py", ROOT)]
    assert found[0] == "tests/kernels/test_dot.py"
    assert sorted(found) == sorted(
        str(path.relative_to(ROOT)) for path in (ROOT / "tests/kernels").glob("test_*.py")
    )


def test_a_file_of_the_solver_is_tested_by_its_estimators_too():
    found = [str(path) for path in find_tests("src/mercer/solvers/svm/no_such_file.py", ROOT)]
    assert {"tests/estimators/test_svc.py", "tests/test_reliability_svm.py"} < set(found)
    assert len(found) == len(set(found)) > 20
    assert not [path for path in found if "few_vectors" in path]


def write(root, sources, tests):
    """Write a small project."""
    files = {f"src/mercer/{name}": text for name, text in {"__init__.py": "", **sources}.items()}
    files |= {f"tests/{name}": text for name, text in tests.items()}
    for name, text in {
        **files,
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_in_a_small_project_tested_changes_are_killed_and_others_survive(tmp_path, capsys):
    write(tmp_path, {"toy.py": TOY, "untested/toy.py": TOY}, {"test_toys.py": TEST})
    assert {m.path for m in candidates([""], tmp_path)[""]} == {"src/mercer/toy.py"}

    file = tmp_path / "results.json"
    code = main(["--files", "src/mercer/toy.py", "--number", "9", "--json", str(file)], tmp_path)

    results = {row["after"]: row["outcome"] for row in json.loads(file.read_text(encoding="utf-8"))}
    assert results == {
        "min": "killed",
        "1": "killed",
        "/": "survived",
        "2": "survived",
        "4": "survived",
    }
    assert code == 1
    assert "2 of    5 killed, 40 %" in capsys.readouterr().out
    assert (tmp_path / "src/mercer/toy.py").read_text(encoding="utf-8") == TOY


@pytest.mark.slow
def test_machine_code_of_the_unchanged_file_is_not_used_for_its_mutants(tmp_path, capsys):
    sources = {"loops/__init__.py": "", "loops/double.py": COMPILED}
    write(tmp_path, sources, {"loops/test_double.py": TEST_OF_COMPILED})
    assert main(["--package", "loops", "--number", "9"], tmp_path) == 0
    assert "3 of    3 killed, 100 %" in capsys.readouterr().out
