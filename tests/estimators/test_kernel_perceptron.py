"""KernelPerceptron: margins and mistake bounds, batches, several classes, and the checks of scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.kernel_perceptron import KernelPerceptron

SETTINGS = [
    KernelPerceptron(),
    KernelPerceptron(mc.Matern(length="median"), averaged=True),
    KernelPerceptron(mc.Laplacian("scale"), voted=True),
    KernelPerceptron(mc.Gaussian(5.0), max_iter=3, shuffle=True, random_state=0, memory="10kB"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(SETTINGS)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def moons(global_random_seed):
    return make_moons(150, noise=0.08, random_state=global_random_seed)


def test_the_number_of_mistakes_is_below_the_bound_of_the_margin(moons):
    X, y = moons
    model = KernelPerceptron(mc.Gaussian(5.0)).fit(X, y)
    signed = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert model.margin_[0] == pytest.approx(signed.min() / model.expansion_.norms()[0])
    assert model.margin_[0] > 0
    assert model.mistake_bound_[0] == pytest.approx(1 / model.margin_[0] ** 2)
    assert model.n_mistakes_[0] <= model.mistake_bound_[0]
    assert (model.predict(X) == y).all()


def test_the_expansion_counts_the_mistakes(moons):
    X, y = moons
    model = KernelPerceptron(mc.Gaussian(5.0)).fit(X, y)
    np.testing.assert_array_equal(model.expansion_.points, X[model.support_])
    assert np.abs(model.expansion_.coef).sum() == model.n_mistakes_[0]
    np.testing.assert_array_equal(
        model.decision_function(X), model.expansion_(X)[:, 0] + model.intercept_
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("form", [{}, {"averaged": True}, {"voted": True}])
def test_batches_presented_once_are_one_pass(form):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, kernel = X[order], y[order], mc.Gaussian(0.5)
    whole = KernelPerceptron(kernel, max_iter=1, **form).fit(X, y)
    parts = KernelPerceptron(kernel, **form)
    for rows in np.array_split(np.arange(len(y)), 7):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_array_equal(parts.support_, whole.support_)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_points_presented_one_after_another_are_one_pass(container, moons):
    X, y = moons
    model = KernelPerceptron(mc.Gaussian(5.0))
    for i in range(20):
        model.partial_fit(container(X[i : i + 1]), y[i : i + 1], classes=[0, 1])
    whole = KernelPerceptron(mc.Gaussian(5.0)).partial_fit(X[:20], y[:20], classes=[0, 1])
    np.testing.assert_allclose(
        model.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-12
    )


def test_one_point_has_no_bandwidth_and_one_class(moons):
    X, y = moons
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        KernelPerceptron().partial_fit(X[:1], y[:1], classes=[0, 1])
    with pytest.raises(ValueError, match="two classes or more; got one class"):
        KernelPerceptron(mc.Gaussian(5.0)).fit(X[:1], y[:1])


def test_batches_number_their_examples_one_after_another(moons):
    X, y = moons
    model = KernelPerceptron(mc.Gaussian(5.0)).partial_fit(X[:10], y[:10], classes=[0, 1])
    model.partial_fit(X[10:], y[10:])
    assert model.support_.max() >= 10
    np.testing.assert_array_equal(model.expansion_.points, X[model.support_])
    assert model.n_iter_ == 2
    assert model.mistakes_[0].seen == 150
    signed = np.where(y[10:] == 1, 1, -1) * model.decision_function(X[10:])
    assert model.margin_[0] == pytest.approx(signed.min() / model.expansion_.norms()[0])


def test_votes_in_blocks_equal_votes_at_once(moons, costs):
    X, y = moons
    model = KernelPerceptron(mc.Gaussian(5.0), voted=True).fit(X, y)
    whole = model.decision_function(X)
    assert np.abs(whole).max() <= 1
    costs(BLOCK=100)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-14)


def test_a_batch_without_mistakes_adds_no_point(moons):
    X, y = moons
    model = KernelPerceptron(mc.Gaussian(5.0)).fit(X, y)
    points = len(model.expansion_.points)
    model.partial_fit(X[:20], y[:20])
    assert len(model.expansion_.points) == points


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_averages_and_votes_err_less_than_the_last_vector_where_classes_overlap():
    """Ten samples of two overlapping Gaussians."""
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 600)
        X = rng.standard_normal((600, 2)) + y[:, None]
        forms = ({}, {"averaged": True}, {"voted": True})
        fitted = [
            KernelPerceptron(mc.Gaussian(0.2), max_iter=5, **form).fit(X[:200], y[:200])
            for form in forms
        ]
        errors.append([1 - model.score(X[200:], y[200:]) for model in fitted])
    last, averaged, voted = np.mean(errors, axis=0)
    assert averaged < last - 0.02
    assert voted < last - 0.02


def test_several_classes_are_learned_one_vs_rest():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    kernel = mc.Gaussian(10.0)
    model = KernelPerceptron(kernel).fit(X, names)
    assert model.decision_function(X).shape == (150, 3)
    for c, name in enumerate(model.classes_):
        one = KernelPerceptron(kernel).fit(X, names == name)
        assert one.n_mistakes_[0] == model.n_mistakes_[c]
        np.testing.assert_allclose(
            one.decision_function(X), model.decision_function(X)[:, c], atol=1e-12
        )
    assert model.score(X, names) > 0.95


def test_the_memory_limit_does_not_change_the_model(moons):
    X, y = moons
    stored, lazy = (KernelPerceptron(mc.Gaussian(5.0), memory=m).fit(X, y) for m in ("1GB", "1kB"))
    np.testing.assert_array_equal(stored.support_, lazy.support_)
    np.testing.assert_array_equal(stored.decision_function(X), lazy.decision_function(X))


def test_precomputed_and_sparse_points_give_the_same_model(moons):
    X, y = moons
    kernel = mc.Gaussian(5.0)
    expected = KernelPerceptron(kernel).fit(X, y)
    given = KernelPerceptron("precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(
        given.decision_function(kernel(X[:9], X)), expected.decision_function(X[:9]), atol=1e-12
    )
    sparse = KernelPerceptron(kernel).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X)), expected.decision_function(X), atol=1e-9
    )
    sparse.partial_fit(sp.csr_array(X + 0.5), 1 - y)
    assert sparse.score(sp.csr_array(X + 0.5), 1 - y) > 0.5


def test_a_decision_value_of_zero_is_the_first_class():
    model = KernelPerceptron("linear").fit([[1.0], [-1.0]], ["above", "below"])
    assert model.decision_function([[0.0]]).tolist() == [0.0]
    assert model.predict([[0.0], [1.0], [-1.0]]).tolist() == ["above", "above", "below"]


def test_the_number_of_passes_is_that_of_the_slowest_class():
    X, y = load_iris(return_X_y=True)
    model = KernelPerceptron(mc.Gaussian(10.0)).fit(X, y)
    passes = [run.n_iter for run in model.mistakes_]
    assert model.n_iter_ == max(passes) > min(passes)
    assert model.n_mistakes_.tolist() == [len(run.rows) for run in model.mistakes_]


def test_a_list_of_strings_is_separated():
    words, y = ["kernel", "kernels", "colonel", "margin", "margins", "merging"], [0, 0, 0, 1, 1, 1]

    def shared_letters(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    model = KernelPerceptron(shared_letters).fit(words, y)
    assert model.predict(words).tolist() == y
    assert model.partial_fit(["margarine", "colonels"], [1, 0]).predict(["kernels"]) == [0]


@pytest.mark.parametrize("form", [{}, {"averaged": True}, {"voted": True}], ids=repr)
def test_float32_stays_float32(moons, form):
    X, y = moons
    model = KernelPerceptron(mc.Gaussian(5.0), **form).fit(X.astype(np.float32), y)
    assert model.decision_function(X.astype(np.float32)).dtype == np.float32


def test_the_same_seed_gives_the_same_mistakes(moons):
    X, y = moons
    first, second = (KernelPerceptron(shuffle=True, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.mistakes_[0].times, second.mistakes_[0].times)


def test_classes_that_overlap_are_reported_with_the_number_of_mistakes():
    X = np.array([[0.0], [0.0], [1.0]])
    with pytest.warns(
        ConvergenceWarning, match="the last of 5 passes still made 2 mistakes on 3 examples"
    ):
        model = KernelPerceptron(mc.Gaussian(1.0), max_iter=5).fit(X, [0, 1, 1])
    assert model.margin_[0] <= 0
    assert np.isinf(model.mistake_bound_[0])


def test_grid_search_reaches_the_kernel(moons):
    search = GridSearchCV(KernelPerceptron(averaged=True), {"kernel__gamma": [0.1, 5.0]}, cv=3)
    with pytest.warns(ConvergenceWarning):
        search.fit(*moons)
    assert search.best_estimator_.kernel_.gamma == 5.0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"max_iter": 0}, ValueError, "max_iter = 0 must be at least 1"),
        ({"averaged": True, "voted": True}, ValueError, "exclude one another"),
        ({"averaged": np.ones(2)}, TypeError, "averaged must be True or False"),
        ({"kernel": "rfb"}, ValueError, "'rfb' must be one of"),
        ({"memory": "lots"}, ValueError, "memory"),
    ],
)
def test_bad_parameters_are_named(moons, parameters, error, message):
    with pytest.raises(error, match=message):
        KernelPerceptron(**parameters).fit(*moons)


def test_the_classes_of_the_first_call_may_be_given_again(moons):
    X, y = moons
    first, second = (
        KernelPerceptron()
        .partial_fit(X[:20], y[:20], classes=[0, 1])
        .partial_fit(X[20:], y[20:], classes=classes)
        for classes in (None, [1, 0])
    )
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_bad_batches_are_refused(moons):
    X, y = moons
    with pytest.raises(ValueError, match="classes must be given"):
        KernelPerceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"label 2 is none of the classes \[0, 1\]"):
        KernelPerceptron().fit(X, y).partial_fit(X[:2], [0, 2])
    with pytest.raises(
        ValueError, match=r"classes = \[0, 1, 2\] must be those of the first call, \[0, 1\]"
    ):
        KernelPerceptron().partial_fit(X, y, classes=[0, 1]).partial_fit(X, y, classes=[2, 1, 0])
    with pytest.raises(TypeError, match="precomputed"):
        KernelPerceptron("precomputed").partial_fit(np.eye(3), [0, 1, 1], classes=[0, 1])
    with pytest.raises(ValueError, match="one class"):
        KernelPerceptron().fit(X, np.zeros(len(X)))


def test_an_unfitted_model_raises_not_fitted_error(moons):
    with pytest.raises(NotFittedError):
        KernelPerceptron().predict(moons[0])


@pytest.mark.parametrize("form", [{}, {"averaged": True}, {"voted": True}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_its_certificate_is_the_share_of_points_on_the_wrong_side(
    global_random_seed, form, n_classes
):
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.standard_normal((50, 2)), rng.integers(0, n_classes, 50)
    model = mc.KernelPerceptron(mc.Gaussian(0.5), max_iter=3, **form)
    model.partial_fit(X[:20], y[:20], classes=np.arange(n_classes)).partial_fit(X[20:], y[20:])
    values = model.decision_function(X).reshape(50, -1)
    signs = np.where(y[:, None] == (np.arange(n_classes) if n_classes > 2 else [1]), 1, -1)
    np.testing.assert_array_equal(
        mc.certify(model, X, y).residuals, np.mean(signs * values <= 0, axis=0)
    )
    with pytest.raises(ValueError, match="X has 30 rows, but KernelPerceptron was fitted on 50"):
        mc.certify(model, X[20:], y[20:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_its_certificate_is_zero_at_separation_and_notices_changed_coefficients(
    global_random_seed, dtype
):
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.standard_normal((50, 2)).astype(dtype), rng.integers(0, 2, 50)
    model = mc.KernelPerceptron(mc.Gaussian(50.0), max_iter=1000).fit(X, y)
    assert mc.certify(model, X, y).residuals == 0
    model.expansion_ = -model.expansion_
    assert mc.certify(model, X, y).residuals == 1
