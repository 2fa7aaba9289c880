from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer.cli import info
from mercer.formats import write_libsvm

X = np.random.default_rng(0).normal(size=(30, 3))
y = np.arange(30) % 3


def facts(path):
    steps = []
    text = info.run(SimpleNamespace(model=path), steps.append)
    assert steps == [f"reading {path}"]
    return dict(line.split(None, 1) for line in text.splitlines() if not line.startswith(" "))


def test_the_facts_are_those_of_the_model(tmp_path):
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y)
    mc.save(model, tmp_path / "a")
    write_libsvm(model, tmp_path / "b")
    for name, kind in (("a", "Mercer model file"), ("b", "LIBSVM text model")):
        found = facts(tmp_path / name)
        assert found["file"].endswith(kind)
        assert (found["model"], found["kernel"]) == ("SVC", "Gaussian(gamma=0.5)")
        assert (found["classes"], found["outputs"]) == ("3: 0, 1, 2", "3")
        assert found["vectors"] == str(len(model.support_))
        assert found["features"].split()[0] == "3"


def test_the_steps_of_a_pipeline_are_listed(tmp_path):
    mc.save(make_pipeline(StandardScaler(), mc.KernelPCA(2)).fit(X), tmp_path / "p")
    found = facts(tmp_path / "p")
    assert found["pipeline"] == "StandardScaler > KernelPCA"
    assert "classes" not in found


def test_a_kernel_alone_is_described(tmp_path):
    mc.save(mc.Gaussian(0.5), tmp_path / "k")
    assert facts(tmp_path / "k")["model"] == "Gaussian"


def test_the_report_of_a_compression_is_printed(tmp_path):
    small = mc.compress(
        mc.SVC(kernel=mc.Gaussian(0.5)).fit(X, y), X, y, n_vectors=4, random_state=0
    )
    mc.save(small, tmp_path / "s")
    text = info.run(SimpleNamespace(model=tmp_path / "s"), str)
    for line in str(small.report_).splitlines():
        assert line in text


@pytest.mark.parametrize("kernel", [mc.Linear(), mc.Polynomial(2)])
def test_regressions_have_no_classes(kernel, tmp_path):
    mc.save(mc.SVR(kernel=kernel).fit(X, y), tmp_path / "r")
    found = facts(tmp_path / "r")
    assert (found["model"], found["kernel"], found["outputs"]) == ("SVR", repr(kernel), "1")
