"""Numbers that were measured: each has its reason and a place that uses it, and none is 0."""

import re
from pathlib import Path

import pytest
from tests.reference.inside import costs

SOURCE = Path(costs.__file__)
NAMES = [name for name in vars(costs) if name.isupper()]
NUMBERS = [name for name in NAMES if isinstance(getattr(costs, name), (int, float))]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_positive_and_used(name):
    assert getattr(costs, name) > 0
    others = [path.read_text() for path in SOURCE.parents[1].rglob("*.py") if path != SOURCE]
    assert any(re.search(rf"\b{name}\b", text) for text in others)


def test_every_number_has_a_comment_above_it():
    lines = SOURCE.read_text().splitlines()
    numbers = [i for i, line in enumerate(lines) if re.match(r"[A-Z_0-9]+ = ", line)]
    assert len(numbers) == len(NAMES)
    assert all(lines[i - 1].startswith("#") for i in numbers)


@pytest.mark.parametrize("capability", [8, 9, 10])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("p", [0, 1, 2, 16, 17, costs.DEVICE_COLUMNS])
@pytest.mark.parametrize("d", [1, 3, 4, 64, 65, 10_000])
def test_every_product_on_a_device_has_a_tile(d, p, double, capability):
    tile = costs.device_tile(d, p, double, capability)
    # rows are padded to a multiple of 256, and the arrays of Triton have powers of 2
    assert 256 % tile.rows == 256 % tile.columns == tile.chunk % 64 == 0
    # threads keep the sums of all columns
    assert not tile.few or p <= tile.width and d <= costs.FEW_FEATURES
