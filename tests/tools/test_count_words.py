"""Rejected words, counted by folder."""

from collections import Counter

import pytest
from tools.count_words import WORDS, count, pattern, show


@pytest.mark.parametrize(
    ("word", "yes", "no"),
    [
        ("price", "upper_price, prices", "enterprise"),
        ("machine", "a machine of one pair", "a support vector machine, machine code"),
        ("way to", "three ways to solve", "always"),
        ("report (a callback)", "def solve(rows, report=None)", "capacity.report(model, X)"),
        ("chosen (a function)", "chosen(kernel, X, 5)", "answer.at(5), points that are chosen"),
        ("is no", "this is no model", "there is none"),
        ("What as a subject", "# What a fit needs", "# What is it?"),
    ],
)
def test_a_word_is_told_from_its_neighbours(word, yes, no):
    assert pattern(WORDS[word]).search(yes)
    assert not pattern(WORDS[word]).search(no)


def test_words_are_counted_by_folder_and_shown_with_their_place(tmp_path):
    (tmp_path / "src").mkdir()
    for name in ("tests", "docs", "examples", "experiments", "benchmarks", "tools"):
        (tmp_path / name).mkdir()
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "pyproject.toml"):
        (tmp_path / name).write_text("a price", encoding="utf-8")
    (tmp_path / "src" / "polish.py").write_text("prices = 1  # the price\n", encoding="utf-8")
    found = count(tmp_path)
    # the glossary itself is left out
    assert found["price"] == Counter(src=2, docs=2, other=2)
    assert found["names of files"]["src"] == 1
    assert "src/polish.py:1: prices = 1  # the price" in list(show(tmp_path, "price"))
