"""Parts of a model that contradict each other are refused, by name, before anything is predicted."""

import copy
import dataclasses

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.formats.golden import make

import mercer as mc
from mercer.formats import FittedExpansion
from mercer.formats.consistency import require_consistent
from mercer.maps.coordinates import Coordinates

MODELS = make.models()


@pytest.mark.parametrize("name", MODELS)
def test_every_fitted_model_is_consistent(name):
    assert require_consistent(MODELS[name]) is MODELS[name]


def column(j, value):
    def change(array):
        array = array.copy()
        array[j] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "attribute", "change", "complaint"),
    [
        ("SVC", "n_support_", column(0, -1), "add up"),
        ("SVC", "n_support_", lambda a: a.astype(float), "dtype float64"),
        ("SVC", "n_support_", lambda a: a[:2], "c of 'c' is"),
        ("SVC", "intercept_", lambda a: a[:1], "3 classes need 3"),
        ("SVC", "intercept_", column(0, np.nan), "not finite"),
        ("SVC", "dual_coef_", lambda a: a[:, :1], "1 columns for 3 classes"),
        ("SVC", "dual_coef_", lambda a: a.tolist(), "must be an array"),
        ("SVC", "support_vectors_", lambda a: a[:, :2], "has 2 columns, not 3"),
        ("SVC", "support_vectors_", lambda a: a[1:], "s of 's'"),
        ("SVC", "support_vectors_", lambda a: a.astype(int), "must hold floats"),
        ("SVC", "classes_", lambda a: a[:1], "c of 'c' is 3"),
        ("SVC", "n_features_in_", lambda _: 3.0, "positive integer"),
        ("SVC", "n_features_in_", lambda _: 0, "positive integer"),
        (
            "KernelMap",
            "n_features_in_",
            lambda _: 2**32,
            "is 4294967296; it must be at most 67108864",
        ),
        ("SVC", "kernel_", lambda _: "rbf", "kernel_ is of type str"),
        ("SVC", "kernel_", lambda _: mc.Gaussian(), "not resolved"),
        ("SVC", "multi_class", lambda _: "ovr", "dual_coef_ has 2 columns"),
        ("SVC", "feature_names_in_", lambda _: np.array(["a"], object), "d of 'd' is 3"),
        ("SVC", "feature_names_in_", lambda _: np.array([1, 2, 3], object), "must be strings"),
        ("SVR", "dual_coef_", lambda a: a[:, 0], "1 dimensions"),
        ("SVR", "intercept_", lambda a: float(a[0]), "must be an array"),
        ("KernelPCA", "expansion_", lambda psi: psi[:, :2], "m of 'n m' is"),
        ("KernelPCA", "expansion_", lambda _: None, "NoneType|no "),
        ("KernelRidge", "dual_coef_", lambda a: a[:, :1], "m of 'n m"),
        ("KernelPerceptron", "mistakes_", lambda runs: runs[:1], "one entry per vector"),
        ("KernelPerceptron", "mistakes_", lambda runs: tuple(runs), "must be a list"),
        ("PCAL1", "components_", lambda a: a[:, :2], "d of 'm d' is 3"),
    ],
)
def test_contradictions_are_named(name, attribute, change, complaint):
    model = copy.copy(MODELS[name])
    vars(model)[attribute] = change(vars(model).get(attribute))
    with pytest.raises((ValueError, AttributeError, TypeError), match=complaint):
        require_consistent(model)


@pytest.mark.parametrize(
    "missing", ["support_vectors_", "dual_coef_", "intercept_", "classes_", "kernel_", "n_support_"]
)
def test_a_missing_attribute_is_refused(missing):
    model = copy.copy(MODELS["SVC"])
    del vars(model)[missing]
    with pytest.raises((ValueError, AttributeError)):
        require_consistent(model)


@pytest.mark.parametrize(
    "name", ["SVC", "SVC-one-vs-rest-float32", "SVR", "KernelPCA", "KernelRidge"]
)
def test_constructed_vectors_without_support_are_consistent(name):
    model, vectors = copy.copy(MODELS[name]), make.NEW.astype(MODELS[name].expansion_.points.dtype)
    coef = np.cos(np.arange(4 * len(model.intercept_))).reshape(4, -1).astype(vectors.dtype)
    state = vars(model)
    for attribute in ("support_", "n_support_", "_asked"):
        state.pop(attribute, None)
    if "support_vectors_" in state:
        model.support_vectors_, model.dual_coef_ = vectors, coef
    else:
        model.expansion_, state["dual_coef_"] = mc.Expansion(model.kernel_, vectors, coef), coef
    assert require_consistent(model) is model


def test_rows_of_mistakes_are_points_of_the_model():
    model = copy.copy(MODELS["KernelPerceptron"])
    run = model.mistakes_[0]
    n = model.expansion_.shape[0]
    assert (run.rows.min(), run.rows.max()) == (0, n - 1)
    for shift in (-1, 1):
        model.mistakes_ = [dataclasses.replace(run, rows=run.rows + shift), *model.mistakes_[1:]]
        with pytest.raises(ValueError, match=f"rows of mistakes_ must be between 0 and {n - 1}"):
            require_consistent(model)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"signs": np.zeros(1)}, r"signs has shape \(1,\), not"),
        ({"times": np.zeros((2, 2), int)}, r"times has shape \(2, 2\), not"),
        ({"rows": [0]}, "rows of Mistakes is of type list"),
        ({"seen": 1.0}, "seen of Mistakes is of type float"),
        ({"last": True}, "last of Mistakes is of type bool"),
    ],
    ids=lambda value: min(value) if isinstance(value, dict) else "",
)
def test_records_of_mistakes_are_vectors_of_one_length_and_integers(change, complaint, tmp_path):
    model = copy.copy(MODELS["KernelPerceptron"])
    model.mistakes_ = [dataclasses.replace(model.mistakes_[0], **change), *model.mistakes_[1:]]
    with pytest.raises(ValueError, match=complaint):
        mc.save(model, tmp_path / "model")


def test_signs_of_mistakes_are_floats_and_their_rows_and_times_integers():
    run = MODELS["KernelPerceptron"].mistakes_[0]
    for name, kind in (("rows", float), ("times", float), ("signs", int)):
        model = copy.copy(MODELS["KernelPerceptron"])
        forged = dataclasses.replace(run, **{name: getattr(run, name).astype(kind)})
        model.mistakes_ = [forged, *model.mistakes_[1:]]
        with pytest.raises(ValueError, match=f"{name} has dtype {np.dtype(kind)}"):
            require_consistent(model)


@pytest.mark.parametrize(
    ("coef", "complaint"),
    [(np.zeros((0, 2**40)), "m of 'q m' is 1"), (np.full((1, 1), np.inf), "not finite")],
    ids=["wide", "infinite"],
)
def test_free_coefficients_have_a_finite_column_for_each_target(coef, complaint):
    model = mc.KernelRidge(0.1, kernel=make.K, free="constant").fit(make.X, make.TARGET)
    model.__dict__["free_coef_"] = coef
    with pytest.raises(ValueError, match=complaint):
        require_consistent(model)


def test_a_precomputed_matrix_holds_finite_floats(tmp_path):
    kernel = mc.Precomputed(np.eye(2))
    object.__setattr__(kernel, "matrix", np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="NaN"):
        mc.save(kernel, tmp_path / "kernel")
    object.__setattr__(kernel, "matrix", np.zeros((2, 3)))
    with pytest.raises(ValueError, match="must be the square matrix"):
        mc.save(kernel, tmp_path / "kernel")
    for matrix in (np.eye(2, dtype=int), np.eye(2, dtype=np.float32)):
        object.__setattr__(kernel, "matrix", matrix)
        mc.save(kernel, tmp_path / "kernel")
        loaded = mc.load(tmp_path / "kernel").matrix
        assert loaded.dtype == (np.float32 if matrix.dtype == np.float32 else np.float64)
        assert np.array_equal(loaded, matrix)


def test_steps_of_a_pipeline_fit_together():
    narrow = StandardScaler().fit(make.X[:, :2])
    with pytest.raises(ValueError, match="SVC takes 3 columns, StandardScaler gives 2"):
        require_consistent(make_pipeline(narrow, MODELS["SVC"]))
    with pytest.raises(ValueError, match="SVC has no transform and must be the last step"):
        require_consistent(make_pipeline(MODELS["SVC"], narrow))


def test_records_fit_together(tmp_path):
    psi = MODELS["Expansion"]

    def refused(record, complaint):
        with pytest.raises(ValueError, match=complaint):
            mc.save(record, tmp_path / "record")

    def coordinates(*parts, **options):
        model = copy.copy(MODELS["KernelMap"])
        model.coordinates_ = Coordinates(*parts, **options)
        return model

    refused(FittedExpansion(psi, np.zeros(1)), r"intercept has shape \(1,\), not \(2,\)")
    refused(
        FittedExpansion(mc.Linear(), np.zeros(1)), "expansion of FittedExpansion is of type Linear"
    )
    refused(FittedExpansion(psi, [0.0, 0.0]), "intercept of FittedExpansion is of type list")
    refused(FittedExpansion(psi, np.zeros(2), [0, 1]), "classes of FittedExpansion is of type list")
    refused(FittedExpansion(psi, np.zeros(2), None, 1), "pairs of FittedExpansion is of type int")
    refused(coordinates(psi, psi, np.zeros(2), 0.0), "origin has 2 vectors")
    refused(coordinates(None, psi, np.zeros(2)), "basis of Coordinates is of type NoneType")
    refused(
        coordinates(psi, psi[:, 0], np.zeros(2), np.ones(1)), "square of Coordinates is of type nd"
    )
    refused(
        coordinates(psi, psi[:, 0], np.zeros(2), variances=np.ones(3)),
        r"variances has shape \(3,\), not \(2,\)",
    )
    whitened = Coordinates(psi, psi[:, 0], np.zeros(2), variances=np.ones(2))
    assert require_consistent(whitened) is whitened


def test_a_model_whose_predictions_are_not_finite_is_refused():
    model = copy.copy(MODELS["KernelRidge"])
    psi = model.expansion_
    model.expansion_ = mc.Expansion(psi.kernel, psi.points, np.full(psi.shape, 1e308))
    with pytest.raises(ValueError, match="overflow float64"):
        require_consistent(model)
