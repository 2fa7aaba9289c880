import pytest

from mercer.cli.demo.denoising import Setting


@pytest.fixture(scope="session")
def tiny():
    return Setting(
        n_train=80,
        n_test=30,
        linear={"n_components": [4, 8]},
        ridge={"n_components": [8], "gamma": [0.02], "alpha": [0.01]},
        kernel={"n_components": [16], "gamma": [0.2]},
        learned={"ridge": [0.1]},
    )
