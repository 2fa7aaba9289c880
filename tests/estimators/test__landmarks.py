"""Landmarks of estimators: all rows give the exact model, every rule and container of points works, errors say why."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge

import mercer as mc

KERNEL = mc.Gaussian(0.3)
RULES = ["randomly_pivoted", "greedy", "leverage", "k_means", "uniform"]
MODELS = {
    "KernelPCA": mc.KernelPCA(3, kernel=KERNEL, random_state=0),
    "KernelPCA-whitened": mc.KernelPCA(3, kernel=KERNEL, whiten=True, random_state=0),
    "KernelRidge": mc.KernelRidge(0.1, kernel=KERNEL, random_state=0),
    "KernelFisher": mc.KernelFisher(kernel=KERNEL, mu=0.1, random_state=0),
    "SVC": mc.SVC(3.0, kernel=KERNEL, tol=1e-6, random_state=0),
    "KernelMap": mc.KernelMap(KERNEL, tol=1e-6, random_state=0),
    "Kernelized": mc.Kernelized(Ridge(0.1), KERNEL, random_state=0),
}
# Their coordinates in float32 contain directions of small eigenvalues, which rounding changes.
MAPS = ("KernelMap", "Kernelized")


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((50, 3))
    return (
        X,
        np.argmax(X + 0.3 * rng.standard_normal(X.shape), axis=1),
        rng.standard_normal((15, 3)),
    )


def values(model, new):
    """Return the output of a model that does not depend on the signs and the order of axes."""
    if hasattr(model, "decision_function"):
        return model.decision_function(new)
    if hasattr(model, "predict"):
        return model.predict(new)
    Y = model.transform(new)
    return Y @ Y.T


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-6), (np.float32, 2e-3)])
@pytest.mark.parametrize("name", MODELS)
def test_all_rows_as_landmarks_give_the_exact_model(name, sample, dtype, error):
    X, y, new = (each if each.dtype == int else each.astype(dtype) for each in sample)
    if dtype == np.float32 and name in MAPS:
        # directions may differ that hardly contain the training points, but others
        new, error = X[:15], 2e-3
    error = max(error, 1e-4) if name == "SVC" else error
    # coordinates in float32 have no smaller violation
    model = clone(MODELS[name]).set_params(
        **({"tol": 1e-4} if name == "SVC" and dtype == np.float32 else {})
    )
    exact = clone(model).fit(X, y)
    given = clone(model).set_params(landmarks=X[::-1]).fit(X, y)
    np.testing.assert_allclose(
        values(given, new), values(exact, new), atol=error * np.abs(values(exact, new)).max()
    )
    number = model.set_params(landmarks=50).fit(X, y)
    np.testing.assert_allclose(
        values(number, new), values(exact, new), atol=error * np.abs(values(exact, new)).max()
    )
    assert hasattr(given, "trace_error_") or name == "Kernelized"
    assert getattr(given, "trace_error_", 0.0) < 50 * np.finfo(dtype).eps
    assert not hasattr(exact, "trace_error_")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", MODELS)
def test_every_rule_selects_at_most_the_number_that_is_given(name, rule, sample):
    X, y, new = sample
    model = clone(MODELS[name]).set_params(landmarks=20, rule=rule).fit(X, y)
    assert 15 <= model.expansion_.shape[0] <= 20
    np.testing.assert_array_equal(values(clone(model).fit(X, y), new), values(model, new))
    if name != "Kernelized":
        phi = mc.features(model.kernel_, X)
        onto = mc.features(model.kernel_, model.expansion_.points)
        assert model.trace_error_ == pytest.approx(mc.maps.trace_error(onto, phi), abs=1e-9)
        assert 0 < model.trace_error_ < 0.7


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_without_landmarks_forgets_those_of_an_earlier_fit(name, sample):
    X, y, new = sample
    model = clone(MODELS[name]).set_params(landmarks=9).fit(X, y)
    again = model.set_params(landmarks=None).fit(X, y)
    np.testing.assert_array_equal(values(again, new), values(clone(MODELS[name]).fit(X, y), new))
    assert not hasattr(again, "trace_error_")


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_a_matrix_sparse_rows_and_strings_have_landmarks(name, sample):
    X, y, new = sample
    dense = np.where(X > -1, X, 0.0)
    rows = np.arange(0, 50, 3)
    expected = values(clone(MODELS[name]).set_params(landmarks=dense[rows]).fit(dense, y), new)
    given = (
        clone(MODELS[name]).set_params(kernel="precomputed", landmarks=rows).fit(KERNEL(dense), y)
    )
    np.testing.assert_allclose(values(given, KERNEL(new, dense)), expected, atol=1e-7)
    sparse = (
        clone(MODELS[name])
        .set_params(landmarks=sp.csr_matrix(dense[rows]))
        .fit(sp.csr_matrix(dense), y)
    )
    np.testing.assert_allclose(values(sparse, sp.csr_matrix(new)), expected, atol=1e-6)
    words = [
        "".join(map(str, np.where(row > 0, 1, 0))) * (1 + i % 3) + str(i % 7)
        for i, row in enumerate(X)
    ]
    model = clone(MODELS[name]).set_params(kernel=mc.strings.Spectrum(2), landmarks=8).fit(words, y)
    assert model.expansion_.shape[0] <= 8
    assert np.isfinite(values(model, words[:4])).all()


@pytest.mark.parametrize("name", MODELS)
def test_models_over_landmarks_survive_files_and_pickle(name, sample, tmp_path):
    X, y, new = sample
    model = clone(MODELS[name]).set_params(landmarks=9, rule="greedy").fit(X, y)
    np.testing.assert_array_equal(
        values(pickle.loads(pickle.dumps(model)), new), values(model, new)
    )
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(values(loaded, new), values(model, new))
    assert loaded.rule == "greedy"
    assert loaded.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("name", MODELS)
def test_the_certificate_is_that_of_the_problem_over_landmarks(name, sample):
    X, y, _ = sample
    model = clone(MODELS[name]).set_params(landmarks=9).fit(X, y)
    found = mc.certify(model, X, y)
    assert found.gap < 1e-5 * found.primal if name == "SVC" else found.residuals.max() < 1e-9


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"landmarks": 5, "rule": "best"}, ValueError, "rule = 'best' must be one of .*'leverage'"),
        ({"landmarks": 0}, ValueError, "landmarks = 0 must be at least 1"),
        ({"landmarks": 2.5}, TypeError, "landmarks must be a whole number"),
        ({"landmarks": np.ones((4, 2))}, ValueError, "landmarks have 2 features, but X has 3"),
        ({"landmarks": 40, "memory": "1kB"}, MemoryError, "memory budget is 1.0 kB"),
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_errors_name_the_argument_and_the_bound(name, params, error, message, sample):
    X, y, _ = sample
    with pytest.raises(error, match=message):
        clone(MODELS[name]).set_params(**params).fit(X, y)


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        (b"1", "landmarks must be a whole number, got b'1'"),
        (object(), "landmarks must be a list or an array.* got object"),
        ([1.0], r"landmarks must have two dimensions .* got shape \(1,\)"),
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_landmarks_are_checked_before_any_kernel_matrix(name, landmarks, message, sample):
    def kernel(A, B):
        # a few points show whether it is symmetric
        assert len(A) * len(B) < 200, "a kernel matrix was computed"
        return A @ B.T

    X, y, _ = sample
    with pytest.raises((TypeError, ValueError), match=message):
        clone(MODELS[name]).set_params(landmarks=landmarks, kernel=kernel).fit(X, y)


@pytest.mark.parametrize("name", MODELS)
def test_landmarks_of_a_table_have_the_columns_of_the_data_in_their_order(name, sample):
    X, y, _ = sample
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = clone(MODELS[name])
    for wrong in (table[["c", "a", "b"]], table.rename(columns={"a": "z"})):
        with pytest.raises(
            ValueError, match=r"landmarks have the columns .*, but X has \['a', 'b', 'c'\]"
        ):
            model.set_params(landmarks=wrong[:5]).fit(table, y)
    for right in (table[:5], X[:5], pd.DataFrame(X[:5])):
        model.set_params(landmarks=right).fit(table, y)


def test_landmarks_of_a_given_matrix_are_row_indices(sample):
    X = sample[0]
    for landmarks, message in (
        ([0.5, 1.5], "row indices between 0 and 49"),
        (X, r"got shape \(50, 3\)"),
    ):
        with pytest.raises(
            ValueError, match=f"landmarks must be row indices.*{message.split('indices')[-1]}"
        ):
            mc.KernelRidge(kernel="precomputed", landmarks=landmarks).fit(X @ X.T, X[:, 0])


def test_a_number_that_is_not_below_the_number_of_points_means_all_of_them():
    routes = [
        mc.plan(mc.KernelRidge(landmarks=m), 5, 1).route for m in (None, 4, 5, 6, np.ones((9, 1)))
    ]
    assert routes == ["dense", "landmarks", "dense", "dense", "landmarks"]
