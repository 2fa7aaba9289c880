"""Calls of small functions, and the counts of a fit."""

import importlib.util
import sys

import pytest
from tools.trace_calls import main, trace, traces, tree

SOURCE = """\
def leaf(x):
    return x + 1


def numbers(n):
    for i in range(n):
        yield leaf(i)


def deep(n):
    return deep(n - 1) if n else leaf(0)


def top():
    deep(3)
    return sum(numbers(2))


def failing():
    leaf(0)
    raise ValueError
"""


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "inside" / "traced.py"
    path.parent.mkdir()
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("traced", path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_calls_functions_files_and_depth_are_counted(module, tmp_path):
    found = trace(module.top, tmp_path)
    # the generator runs until its two values and until its end
    assert dict(found.counts) == {
        ("inside/traced.py", "top"): 1,
        ("inside/traced.py", "deep"): 4,
        ("inside/traced.py", "leaf"): 3,
        ("inside/traced.py", "numbers"): 3,
    }
    assert (found.calls, found.functions, found.files) == (11, 4, 1)
    # top, deep four times, leaf
    assert found.depth == 6


def test_code_outside_the_folder_does_not_count(module, tmp_path):
    found = trace(lambda: sorted([2, 1], key=lambda x: module.leaf(x)), tmp_path)
    assert (found.calls, found.depth) == (2, 1)
    assert trace(module.top, tmp_path / "another").calls == 0


def test_the_tree_shows_who_calls_whom(module, tmp_path):
    found = trace(module.top, tmp_path)
    lines = [line.split()[:2] for line in tree(found.root, 2)]
    assert lines == [["1", "top"], ["1", "deep"], ["3", "numbers"]]
    assert list(tree(found.root, 0)) == []
    assert len(list(tree(found.root, 9))) == 8


def test_an_error_ends_the_trace(module, tmp_path):
    before = sys.getprofile()
    with pytest.raises(ValueError, match="^$"):
        trace(module.failing, tmp_path)
    assert sys.getprofile() is before


def test_the_calls_of_a_fit_do_not_depend_on_chance():
    first, second = [[found.counts for _, found in traces("KernelPCA")] for _ in range(2)]
    assert first == second
    assert len(first) == 2


def test_the_command_prints_a_line_for_each_call(capsys):
    main(["SVC", "--most", "3", "--tree", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("SVC")] == [
        "SVC.fit",
        "SVC.predict",
    ]
    assert len(lines) >= 1 + 2 * (1 + 3 + 1)
