"""The closed lists of model files contain every estimator and kernel of closed form, and nothing else."""

import dataclasses
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from tests import public
from tests.formats.golden import make

import mercer as mc
from mercer._compute import register
from mercer._compute.profile import field_names
from mercer.formats import FittedExpansion, allowlist


def names_of(base):
    """Return the names of the public classes of a kind."""
    things = {name: getattr(mc, name) for name in public.NAMES}
    return {
        name
        for name, thing in things.items()
        if isinstance(thing, type) and issubclass(thing, base)
    }


def test_every_estimator_of_mercer_is_listed():
    classes = names_of(BaseEstimator)
    listed = {name for name, cls in register.CLASSES.items() if issubclass(cls, BaseEstimator)}
    assert listed == classes | {"InvariantMap"}


def test_every_public_kernel_is_listed_unless_it_holds_a_function_or_is_a_base_class():
    listed = {cls.__name__ for cls in register.CLASSES.values()}
    assert names_of(mc.Kernel) - listed == {
        "Coordinatewise",
        "Dot",
        "FeatureMap",
        "FunctionKernel",
        "Kernel",
        "Radial",
    }


def test_every_listed_estimator_of_scikit_learn_exists():
    for name in allowlist.SCIKIT_LEARN:
        assert allowlist.estimator(name).__name__ == name


@pytest.mark.parametrize(
    "name", ["DecisionTreeClassifier", "svc_path", "Kernel", "", "sklearn.svm.SVC"]
)
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="is not an estimator"):
        allowlist.estimator(name)


def test_a_subclass_is_another_class():
    class SVC(mc.SVC):
        pass

    assert allowlist.is_storable_estimator(mc.SVC())
    assert not allowlist.is_storable_estimator(SVC())


def test_a_record_that_is_defined_again_replaces_the_earlier_one_and_another_of_its_name_is_refused(
    monkeypatch,
):
    monkeypatch.setattr(register, "CLASSES", dict(register.CLASSES))
    earlier, later, other = (
        dataclasses.make_dataclass("Found", ["value"], frozen=True) for _ in range(3)
    )
    other.__module__ = "elsewhere"
    for record in (earlier, later):
        assert register.storable(record) is record
        assert register.CLASSES["Found"] is record
    assert register.name_in_files(earlier) == register.name_in_files(later) == "Found"
    with pytest.raises(ValueError, match="the record name 'Found' is taken"):
        register.storable(other)


def test_a_record_is_added_under_a_free_name(tmp_path, monkeypatch):
    monkeypatch.setattr(register, "CLASSES", dict(register.CLASSES))

    @register.storable
    @dataclass(frozen=True)
    class Report:
        before: int
        error: float

    model = mc.SVR(kernel=mc.Gaussian(1.0)).fit([[0.0], [1.0]], [0.0, 1.0])
    model.report_ = Report(10, 0.125)
    mc.save(model, tmp_path / "model")
    assert mc.load(tmp_path / "model").report_ == Report(10, 0.125)
    with pytest.raises(ValueError, match="record name 'Gaussian' is taken"):
        register.storable(dataclass(frozen=True)(type("Gaussian", (), {})))


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("expansion_", False), ("report_", True), ("n_features_in_", True), ("_norm", True), ("predict", False),
     ("__dict__", False), ("__class__", False), ("C", False), ("_repr_html_", False), ("", False), ("a b_", False)],
)  # fmt: skip
def test_files_may_set_only_attributes_that_fit_sets(name, allowed):
    assert allowlist.is_fitted_attribute(mc.SVC, name) == allowed
    assert allowlist.is_fitted_attribute(mc.KernelRidge, "posterior_")
    assert not allowlist.is_fitted_attribute(allowlist.estimator("StandardScaler"), "_norm")


# Names of classes and fields in the files of version 1. A class or field that is renamed keeps its name here.
STORED = {
    "AdditiveChi2": "",
    "BlendedSpectrum": "length",
    "BSpline": "order",
    "Bhattacharyya": "",
    "Cauchy": "gamma",
    "Certificate": "primal dual kkt",
    "Chi2": "gamma",
    "CompressionReport": "vectors_before vectors_after relative_error measured reason",
    "Conformal": "kernel c",
    "Constant": "value",
    "Coordinates": "basis origin intercept square variances",
    "Distances": "neighbours normalise",
    "EmpiricalMap": "kernel points F",
    "Embedding": "lags horizon",
    "Exact": "tol",
    "Exp": "kernel",
    "FittedScores": "expansion intercept classes",
    "Flow": "shape velocity background",
    "FixedPoint": "max_iter tol restarts pull normalise",
    "Gaussian": "gamma",
    "GlobalAlignment": "width band normalized",
    "Gradient": "max_iter tol restarts pull memory",
    "Graph": "adjacency labels",
    "AttributedShortestPath": "kernel",
    "Graphlets": "size",
    "Anova": "kernel degree",
    "Intersection": "",
    "Column": "source kind fill levels knots places",
    "DirectSum": "left right n_features",
    "Laplacian": "gamma",
    "Learned": "noise kernel copies landmarks ridge random_state",
    "Linear": "",
    "Mapped": "kernel A",
    "Local": "kernel shape width",
    "Matern": "length nu",
    "MeanMap": "kernel",
    "Measured": "rows score_before score_after standard_error standard_error_of_loss changed",
    "MinMax": "",
    "Multiquadric": "c",
    "PowerDistance": "beta",
    "ThinPlate": "",
    "Mismatch": "length mismatches alphabet",
    "Mistakes": "rows signs times seen n_iter last",
    "Normalized": "kernel",
    "OnColumns": "kernel columns",
    "OnFeatures": "kernel inner",
    "Periodic": "period length",
    "Overlap": "",
    "Polynomial": "degree gamma coef0",
    "Power": "kernel degree",
    "Precomputed": "matrix",
    "Product": "left right",
    "Projected": "kernel directions weights",
    "RandomWalk": "decay",
    "RationalQuadratic": "length alpha",
    "Scaled": "kernel factor",
    "Search": "neighbours max_iter",
    "ShortestPath": "",
    "Sigmoid": "gamma coef0",
    "Spectrum": "length",
    "Subsequence": "length decay",
    "Sum": "left right",
    "TangentFeatures": "kernel points directions coef",
    "Tanimoto": "",
    "Thickening": "shape background",
    "Tuning": "method max_steps prior",
    "VariableWidthGaussian": "gamma n_features",
    "WeightedDegree": "degree",
    "WeisfeilerLehman": "iterations",
    "Words": "analyzer ngrams lowercase stop_words binary",
}


def test_names_of_records_and_fields_in_files_never_change():
    # first, since it imports the modules of records that are not imported yet
    listed = {name: allowlist.record(name) for name in STORED}
    records = {name for name, cls in register.CLASSES.items() if not issubclass(cls, BaseEstimator)}
    assert records == set(STORED), "add new records to STORED, never rename one"
    for name, cls in listed.items():
        stored = STORED[name].split()
        assert set(stored) <= set(field_names(cls)), name
        assert register.name_in_files(cls) == name
        # files of today lack the fields of tomorrow
        new = [field for field in dataclasses.fields(cls) if field.name not in stored]
        assert all(field.default is not dataclasses.MISSING for field in new), name


def test_names_in_files_do_not_depend_on_modules(tmp_path):
    for name, model in make.models().items():
        mc.save(model, tmp_path / name)
        content = (tmp_path / name).read_bytes()
        header = content[48 : 48 + int.from_bytes(content[40:48], "little")]
        assert b"mercer." not in header, name
        assert b"sklearn" not in header.replace(b"_sklearn_output_config", b""), name


def test_an_expansion_of_another_library_is_stored_under_its_first_name(tmp_path):
    psi = mc.Expansion(mc.Linear(), np.eye(2), np.ones((2, 1)))
    mc.save(FittedExpansion(psi, np.zeros(1)), tmp_path / "fitted")
    assert b'{"record":["FittedScores",' in (tmp_path / "fitted").read_bytes()
    assert type(mc.load(tmp_path / "fitted")) is FittedExpansion


def test_a_subclass_of_a_record_has_no_name():
    class Other(mc.Gaussian):
        pass

    assert register.name_in_files(Other) is None
    assert register.name_in_files(mc.Gaussian) == "Gaussian"


def test_a_record_is_no_estimator_and_an_estimator_no_record():
    with pytest.raises(ValueError, match="'SVC' is not a record"):
        allowlist.record("SVC")
    with pytest.raises(ValueError, match="'Gaussian' is not an estimator"):
        allowlist.estimator("Gaussian")


def test_a_new_process_reads_the_file_of_a_compressed_model(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = mc.compress(mc.SVR(kernel=mc.Gaussian(1.0)).fit(X, X[:, 0]), X, X[:, 0], n_vectors=4)
    mc.save(model, tmp_path / "model")
    code = "import sys, mercer; print(mercer.load(sys.argv[1]).report_)"
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(model.report_)
