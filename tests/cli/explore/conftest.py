import base64

import pytest

from mercer.cli.explore import choice


@pytest.fixture
def choose():
    def choose(
        view, table="moons", plane="0,1", operation="alone", first=("Gaussian", 0.0, 3), size=8
    ):
        return choice.read(
            view, table, plane, operation, [first, ("Polynomial", 0.0, 2)], 0.0, size
        )

    return choose


@pytest.fixture(scope="session")
def data_url():
    return lambda data: "data:text/csv;base64," + base64.b64encode(data).decode()
