"""SVC with few free vectors: as many as asked for, the better of two fits, and what is stored of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

import mercer as mc
from mercer.estimators import _few_vectors

KERNEL = mc.Gaussian(0.3)


def _rings(seed, n=100):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(np.linalg.norm(X, axis=1), [0.8, 1.5])


def decided(values, multi_class):
    """Return the class of three with the largest value, or of most pairs won; the first of equals."""
    if multi_class == "ovr":
        return values.argmax(axis=1)
    votes = np.zeros((len(values), 3), int)
    for column, (i, j) in zip(values.T, [(0, 1), (0, 2), (1, 2)], strict=True):
        votes[np.arange(len(values)), np.where(column > 0, i, j)] += 1
    return votes.argmax(axis=1)


@pytest.fixture(autouse=True)
def one_fold(limits):
    """One fold decides, which saves time."""
    limits(held_out_rows=1)


@pytest.fixture
def fitted():
    X, y = _rings(0)
    return X, y, mc.SVC(kernel=KERNEL, max_vectors=6, random_state=0).fit(X, y)


@pytest.mark.parametrize(("multi_class", "dtype"), [("ovo", np.float32), ("ovr", np.float64)])
def test_there_are_as_many_vectors_as_asked_for(multi_class, dtype):
    X, y = _rings(0)
    test, truth = _rings(1, 2000)
    model = mc.SVC(10.0, kernel=KERNEL, multi_class=multi_class, max_vectors=8, random_state=0).fit(
        X.astype(dtype), y
    )
    assert model.support_vectors_.shape == (8, 2)
    assert model.support_vectors_.dtype == model.dual_coef_.dtype == model.intercept_.dtype == dtype
    assert not hasattr(model, "support_")
    values = model.expansion_(test.astype(dtype)) + model.intercept_
    np.testing.assert_array_equal(model.predict(test.astype(dtype)), decided(values, multi_class))
    assert model.score(test.astype(dtype), truth) > 0.85


def test_few_vectors_predict_better_where_the_machine_fits_noise(global_random_seed):
    """One draw may be an exception: 50 rows held out choose the fit."""
    kernel, gains = mc.Gaussian(30.0), []
    for draw in range(3):
        rng = np.random.default_rng([draw, global_random_seed])
        X, test = rng.random((200, 2)), rng.random((2000, 2))
        y, truth = (np.floor(2 * rows).sum(axis=1) % 2 for rows in (X, test))
        y = np.where(rng.random(200) < 0.2, 1 - y, y)
        large = mc.SVC(1000.0, kernel=kernel).fit(X, y)
        small = mc.SVC(1000.0, kernel=kernel, max_vectors=6, random_state=0).fit(X, y)
        assert small.held_out_accuracies_["labels"] > 0.5
        gains.append(small.score(test, truth) - large.score(test, truth))
    assert np.mean(gains) > 0


@pytest.mark.parametrize("better", ["decision values", "labels"])
def test_the_fit_with_fewer_errors_on_held_out_rows_is_used(better, monkeypatch):
    X, y = _rings(0)
    fits = dict(_few_vectors._FITS)
    for name, fit in fits.items():
        # the other one gets wrong intercepts
        def spoiled(*arguments, fit=fit, name=name):
            kernel, found = fit(*arguments)
            return (
                (kernel, found)
                if name == better
                else (kernel, type(found)(found.points, 0 * found.coef, [9, 9, 9]))
            )

        monkeypatch.setitem(_few_vectors._FITS, name, spoiled)
    model = mc.SVC(kernel=KERNEL, max_vectors=6, random_state=0).fit(X, y)
    assert model.fitted_to_ == better
    assert model.held_out_accuracies_.pop(better) > 0.8 > max(model.held_out_accuracies_.values())


def test_accuracies_are_on_rows_that_no_fit_has_seen():
    # labels drawn at random: seen rows would be known by a machine with a narrow kernel
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(160, 2)), rng.integers(0, 2, 160)
    model = mc.SVC(100.0, kernel=mc.Gaussian(30.0), max_vectors=12, random_state=0).fit(X, y)
    assert max(model.held_out_accuracies_.values()) < 0.65


@pytest.mark.parametrize("fitted_to", ["decision values", "labels"])
def test_both_fits_count_weights(fitted_to, global_random_seed, monkeypatch):
    other = {"decision values": "labels", "labels": "decision values"}[fitted_to]
    monkeypatch.delitem(_few_vectors._FITS, other)
    X, y = make_classification(
        200, 3, n_informative=3, n_redundant=0, flip_y=0.2, random_state=global_random_seed
    )
    weights = np.where(y == 1, 20.0, 1.0)
    options = {"kernel": KERNEL, "random_state": 0}
    large = mc.SVC(**options).fit(X, y, weights)
    plain = mc.SVC(**options, max_vectors=10).fit(X, y)
    model = mc.SVC(**options, max_vectors=10).fit(X, y, weights)
    same = mc.SVC(**options, max_vectors=10, class_weight={0: 1.0, 1: 20.0}).fit(X, y)
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    assert same.held_out_accuracies_ == pytest.approx(model.held_out_accuracies_)
    assert np.mean(model.predict(X) == 1) > np.mean(plain.predict(X) == 1) + 0.1
    # labels may be fitted better than by the large model, whose loss is another
    assert model.score(X, y, weights) > large.score(X, y, weights) - 0.01
    if fitted_to == "decision values":
        assert np.mean(model.predict(X) == large.predict(X)) > 0.9


@pytest.mark.parametrize("fitted_to", ["decision values", "labels"])
def test_a_weight_of_2_is_a_repeated_row(fitted_to, global_random_seed, monkeypatch):
    other = {"decision values": "labels", "labels": "decision values"}[fitted_to]
    monkeypatch.delitem(_few_vectors._FITS, other)
    X, y = _rings(global_random_seed, 60)
    weights = np.random.default_rng(global_random_seed).integers(0, 3, 60)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(60), weights))
    weighted = mc.SVC(kernel=KERNEL, max_vectors=4, random_state=0).fit(X, y, weights)
    repeated = mc.SVC(kernel=KERNEL, max_vectors=4, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-8
    )
    assert weighted.held_out_accuracies_ == pytest.approx(repeated.held_out_accuracies_)


def test_sums_of_equal_rows_do_not_depend_on_their_rounding(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, codes, counts = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), rng.integers(1, 8, 60)
    factors = np.array([0.7, 1.1])[codes]
    rows = np.repeat(np.arange(60), counts)
    weighted = _few_vectors._distinct(X, codes, 1e-200 * factors * counts)
    repeated = _few_vectors._distinct(X[rows], codes[rows], 1e-200 * factors[rows])
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_array_equal(one, other)
    sums = np.bincount(rows, factors[rows])
    assert (sums != factors * counts).any()
    np.testing.assert_allclose(np.sort(weighted[2]), np.sort(1e-200 * sums), rtol=1e-7, atol=0)


def test_a_machine_with_no_more_support_vectors_is_left_as_it_is():
    X, y = _rings(0)
    model, plain = (mc.SVC(kernel=KERNEL, max_vectors=most).fit(X, y) for most in (100, None))
    np.testing.assert_array_equal(model.support_, plain.support_)
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)
    assert mc.certify(model, X, y).kkt < 1e-9
    assert not hasattr(model, "fitted_to_")


def test_free_vectors_have_no_certificate_and_another_fit_has(fitted):
    X, y, model = fitted
    assert not hasattr(model, "certificate_")
    with pytest.raises(
        ValueError,
        match=r"max_vectors = 6 has free vectors, which solve no dual; certify a fit with",
    ):
        mc.certify(model, X, y)
    model.set_params(max_vectors=None).fit(X, y)
    assert not hasattr(model, "fitted_to_")
    assert mc.certify(model, X, y).kkt < 1e-9


@pytest.mark.parametrize("kind", ["precomputed", "objects"])
def test_a_kernel_without_gradient_gets_the_machine_over_selected_support_vectors(kind):
    if kind == "objects":
        X, y, kernel = (
            ["abab", "aabb", "bbba", "cacc", "ccca", "acac"] * 4,
            [0, 0, 0, 1, 1, 1] * 4,
            mc.strings.Spectrum(2),
        )
        X = [text + "abc"[i % 3] * (i // 6) for i, text in enumerate(X)]
    else:
        rows, y = _rings(0)
        X, kernel = KERNEL(rows, rows), "precomputed"
    model = mc.SVC(kernel=kernel, max_vectors=3).fit(X, y)
    assert len(model.support_vectors_) == 3
    certificate = mc.certify(model, X, y)
    assert certificate.kkt < 1e-9
    # the optimum over few vectors is above that over all
    assert certificate.primal > mc.SVC(kernel=kernel).fit(X, y).certificate_.primal
    assert 0 < model.trace_error_ < 1


def test_sparse_rows_give_the_vectors_of_dense_rows():
    X, y = _rings(0)
    X = X * (abs(X) > 0.3)
    dense, sparse = (
        mc.SVC(kernel=KERNEL, max_vectors=6, random_state=0).fit(A, y) for A in (X, sp.csr_array(X))
    )
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=0.05
    )
    assert isinstance(sparse.support_vectors_, np.ndarray)


def test_a_stopped_fit_keeps_the_earlier_one(fitted, monkeypatch):
    X, y, model = fitted
    before = model.decision_function(X)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(_few_vectors._FITS, "labels", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_a_file_keeps_the_vectors(fitted, tmp_path):
    X, _, model = fitted
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert (loaded.fitted_to_, loaded.held_out_accuracies_) == (
        model.fitted_to_,
        model.held_out_accuracies_,
    )


def test_classes_with_few_rows_are_never_held_out():
    X, y = _rings(0, 40)
    y = np.r_[y[:-1], 7]
    model = mc.SVC(kernel=KERNEL, max_vectors=5, random_state=0).fit(X, y)
    assert model.held_out_accuracies_
    # nothing to compare on
    tiny = mc.SVC(kernel=KERNEL, max_vectors=2, random_state=0).fit(X[:6], [0, 0, 0, 1, 1, 1])
    assert tiny.held_out_accuracies_ == {}


def test_numbers_are_checked_and_landmarks_refused():
    X, y = _rings(0)
    with pytest.raises(ValueError, match=r"max_vectors = 0 must be at least 1"):
        mc.SVC(max_vectors=0).fit(X, y)
    with pytest.raises(TypeError, match=r"max_vectors must be a whole number, got 2.5"):
        mc.SVC(max_vectors=2.5).fit(X, y)
    with pytest.raises(ValueError, match=r"max_vectors = 5 must be None with landmarks"):
        mc.SVC(max_vectors=5, landmarks=9).fit(X, y)
    with pytest.raises(MemoryError, match="100 dense rows of 2000 features"):
        mc.SVC(max_vectors=5, kernel="linear", memory="1MB").fit(
            sp.random_array((100, 2000), random_state=0), y
        )


def test_kernels_that_grow_take_few_vectors(global_random_seed):
    # far outside of the rows the square of k(z, z) overflows
    X = np.random.default_rng(global_random_seed).standard_normal((40, 3))
    model = mc.SVC(kernel=mc.Exp(0.1 * mc.Linear()), max_vectors=8, random_state=0).fit(
        X, X[:, 0] > 0
    )
    assert len(model.expansion_.points) <= 8
    assert model.score(X, X[:, 0] > 0) > 0.9
