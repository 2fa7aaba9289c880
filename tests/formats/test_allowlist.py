"""The closed lists of model files: every estimator and kernel of closed form is on them, and nothing else."""

from dataclasses import dataclass

import pytest
from sklearn.base import BaseEstimator

import mercer as mc
from mercer.formats import allowlist as known


def public(base):
    """Return the names of the public classes of a kind."""
    things = {name: getattr(mc, name) for name in mc.__all__}
    return {name for name, thing in things.items() if isinstance(thing, type) and issubclass(thing, base)}


def test_every_estimator_of_mercer_is_listed():
    classes = {
        name for name in mc.__all__ if isinstance(thing := getattr(mc, name), type) and issubclass(thing, BaseEstimator)
    }
    assert set(known.ESTIMATORS) == classes


def test_every_public_kernel_is_listed_unless_it_is_code_or_a_base():
    kernels = {
        name for name in mc.__all__ if isinstance(thing := getattr(mc, name), type) and issubclass(thing, mc.Kernel)
    }
    assert kernels - set(known.RECORDS) == {"Coordinatewise", "Dot", "FeatureMap", "FunctionKernel", "Kernel", "Radial"}


def test_every_name_of_scikit_learn_is_there():
    for name in known._FOREIGN:
        assert known.estimator(name).__name__ == name


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "svc_path", "Kernel", "", "sklearn.svm.SVC"])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="is none of the estimators"):
        known.estimator(name)


def test_a_subclass_is_another_class():
    class SVC(mc.SVC):
        pass

    assert known.is_storable_estimator(mc.SVC())
    assert not known.is_storable_estimator(SVC())


def test_a_record_is_added_under_a_name_that_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(known, "RECORDS", dict(known.RECORDS))

    @known.storable
    @dataclass(frozen=True)
    class Report:
        before: int
        error: float

    model = mc.SVR(kernel=mc.Gaussian(1.0)).fit([[0.0], [1.0]], [0.0, 1.0])
    model.report_ = Report(10, 0.125)
    mc.save(model, tmp_path / "model")
    assert mc.load(tmp_path / "model").report_ == Report(10, 0.125)
    with pytest.raises(ValueError, match="another record called Gaussian"):
        known.storable(dataclass(frozen=True)(type("Gaussian", (), {})))


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("expansion_", False), ("report_", True), ("n_features_in_", True), ("_norm", True), ("predict", False),
     ("__dict__", False), ("__class__", False), ("C", False), ("_repr_html_", False), ("", False), ("a b_", False)],
)  # fmt: skip
def test_files_set_attributes_that_a_fit_sets(name, allowed):
    assert known.is_fitted_attribute(mc.SVC, name) == allowed
    assert known.is_fitted_attribute(mc.KernelRidge, "posterior_")
    assert not known.is_fitted_attribute(known.estimator("StandardScaler"), "_norm")
