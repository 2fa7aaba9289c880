"""TableClassifier: errors on data sets, probabilities, two and more classes, one class."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc


@parametrize_with_checks([mc.TableClassifier(), mc.TableClassifier(n_landmarks=20, random_state=1)])
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def rings(seed, n=400, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    radius = np.hypot(X[:, 0], X[:, 1])
    return X, np.array(["in", "middle", "out"])[np.digitize(radius, [0.9, 1.6][: classes - 1])]


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_and_probabilities_agree_with_values(classes, global_random_seed):
    X, y = rings(global_random_seed, classes=classes)
    model = mc.TableClassifier().fit(X[:300], y[:300])
    values, P = model.decision_function(X), model.predict_proba(X)
    assert model.score(X[300:], y[300:]) > 0.8
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    best = (values > 0).astype(int) if classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[best], model.predict(X))
    np.testing.assert_allclose(
        mc.as_expansion(model)(model.encode(X)).squeeze(), values, atol=1e-12
    )
    assert model.feature_importances_[:2].sum() > 0.9


def test_the_temperature_makes_probabilities_better_than_those_of_other_temperatures(
    global_random_seed,
):
    X, y = rings(global_random_seed, n=900)
    model = mc.TableClassifier().fit(X[:400], y[:400])
    losses = []
    for factor in (0.3, 1.0, 3.0):
        values = factor * model.inverse_temperature_ * model.decision_function(X[400:])
        P = np.exp(values - values.max(axis=1, keepdims=True))
        losses.append(log_loss(y[400:], P / P.sum(axis=1, keepdims=True), labels=model.classes_))
    assert losses[1] == min(losses)


def test_rows_of_weight_zero_and_their_classes_do_not_count(global_random_seed):
    X, y = rings(global_random_seed, n=120)
    weights = (y != "out").astype(float)
    left = mc.TableClassifier().fit(X, y, sample_weight=weights)
    right = mc.TableClassifier().fit(X[weights > 0], y[weights > 0])
    assert left.classes_.tolist() == ["in", "middle"]
    np.testing.assert_allclose(left.decision_function(X), right.decision_function(X), atol=1e-9)


def test_no_class_is_certain_after_rows_without_an_error():
    # one unseen row, half of each class, gives the other class a chance of 1 / (2 n + 2)
    for n in (50, 200):
        X = np.linspace(0, 1, n)[:, None]
        X[n // 2 :] += 9
        P = mc.TableClassifier().fit(X, X[:, 0] > 5).predict_proba(X)
        assert 0.1 / n < P.min(axis=1).mean() < 2 / n


@pytest.mark.parametrize("classes", [2, 3])
def test_a_compressed_model_has_the_classes_and_probabilities_of_the_model(
    classes, tmp_path, global_random_seed
):
    X, y = rings(global_random_seed, n=120, classes=classes)
    model = mc.TableClassifier().fit(X, y)
    small = mc.compress(model, X, n_vectors=60)
    assert type(small) is mc.TableClassifier
    assert small.expansion_.shape[0] == 60
    assert np.mean(small.predict(X) == model.predict(X)) > 0.9
    assert abs(small.predict_proba(X) - model.predict_proba(X)).mean() < 0.1
    mc.save(small, tmp_path / "model")
    np.testing.assert_array_equal(mc.load(tmp_path / "model").predict(X), small.predict(X))
    with pytest.raises(ValueError, match="y must be None for TableClassifier"):
        mc.compress(model, X, y, n_vectors=60)


def rules(seed, n=900):
    """Return categories, as texts of numbers, and classes that follow from them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 6))
    level = X[:, 1:].sum(axis=1) + 2 * (X[:, 0] == 1)
    y = np.where(
        X[:, 0] == 0, "none", np.array(["low", "middle", "high"])[np.digitize(level, [6.5, 9.5])]
    )
    return X, y


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_support_vector_machines_of_pairs_are_taken_where_rules_divide_the_classes(seed, tmp_path):
    X, y = rules(seed)
    model = mc.TableClassifier().fit(X[:400].astype(str), y[:400])
    new = X[400:].astype(str)
    assert model.multi_class_ == "ovo"
    assert model.score(new, y[400:]) > 0.9
    # votes of pairs, the first of equal classes
    first, second = np.triu_indices(4, 1)
    won = mc.as_expansion(model)(model.encode(new)) > 0
    votes = np.zeros((len(new), 4))
    for k in range(6):
        votes[np.arange(len(new)), np.where(won[:, k], first[k], second[k])] += 1
    np.testing.assert_array_equal(model.predict(new), model.classes_[votes.argmax(axis=1)])
    np.testing.assert_array_equal(np.abs(model.decision_function(new) - votes) < 1 / 3, True)
    P = model.predict_proba(new)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert log_loss(y[400:], P, labels=model.classes_) < 0.5
    mc.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mc.load(tmp_path / "model").predict(new), model.predict(new))
    small = mc.compress(model, X[:400].astype(str), n_vectors=200)
    assert small.multi_class_ == "ovo"
    assert np.mean(small.predict(new) == model.predict(new)) > 0.8


@pytest.mark.parametrize("n", [60, 1300])
def test_a_class_of_one_row_is_fitted(n, global_random_seed):
    X, y = rules(global_random_seed, n)
    y = y.astype("U8")
    y[7] = "single"
    model = mc.TableClassifier(random_state=global_random_seed).fit(X, y)
    assert model.predict_proba(X[:9]).shape == (9, 5)
    assert model.score(X, y) > 0.8
    two = mc.TableClassifier().fit(X, y == "single")
    assert two.score(X, y == "single") >= 1 - 1 / n


def test_machines_of_pairs_are_exported_with_their_votes(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    X, y = rules(0)
    table = pd.DataFrame(X).astype("category")
    model = mc.TableClassifier().fit(table[:400], y[:400])
    assert model.multi_class_ == "ovo"
    new = X[400:].astype(float)
    proto = mc.formats.to_onnx(model, "float64")
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {session.get_inputs()[0].name: new})
    found = dict(zip([each.name for each in session.get_outputs()], found, strict=True))
    np.testing.assert_array_equal(found["label"], model.predict(table[400:]))
    np.testing.assert_allclose(found["decision"], model.decision_function(table[400:]), atol=1e-6)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(table[400:]), atol=1e-6)
    assert mc.formats.to_c(model, tmp_path / "model.c", X=new).label_agreement == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"), {"nursery": 2.8, "spambase": 5.8, "segment": 2.5, "creditg": 24.5}.items()
)
def test_errors_on_data_sets_are_those_that_the_documentation_states(name, most, data):
    found = data(name)
    X, y, errors = found["X"].astype(float), found["y"], []
    for seed in (0, 1):
        order = np.random.default_rng(1000 + seed).permutation(len(y))
        m = min(1000, int(0.75 * len(y)))
        train, test = order[:m], order[m : m + 4000]
        model = mc.TableClassifier().fit(X[train], y[train])
        errors.append(100 * np.mean(model.predict(X[test]) != y[test]))
    assert np.mean(errors) <= most


def test_one_class_is_refused():
    with pytest.raises(
        ValueError, match=r"TableClassifier needs at least two classes, got one class, 'a'"
    ):
        mc.TableClassifier().fit(np.eye(3), ["a"] * 3)
