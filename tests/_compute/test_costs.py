"""Numbers that were measured: each has its reason and a place that uses it, and none is 0."""

import re
from pathlib import Path

import pytest

from mercer._compute import costs

SOURCE = Path(costs.__file__)
NAMES = [name for name in vars(costs) if name.isupper()]


@pytest.mark.parametrize("name", NAMES)
def test_a_number_is_positive_and_used(name):
    assert getattr(costs, name) > 0
    others = [path.read_text() for path in SOURCE.parents[1].rglob("*.py") if path != SOURCE]
    assert any(re.search(rf"\b{name}\b", text) for text in others)


def test_every_number_has_a_comment_above_it():
    lines = SOURCE.read_text().splitlines()
    numbers = [i for i, line in enumerate(lines) if re.match(r"[A-Z_0-9]+ = ", line)]
    assert len(numbers) == len(NAMES)
    assert all(lines[i - 1].startswith("#") for i in numbers)
