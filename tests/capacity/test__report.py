import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import mercer as mc
from mercer.capacity import report

G = mc.Gaussian(1.0)


@pytest.fixture(scope="module")
def moons():
    return make_moons(100, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def full(moons):
    X, y = moons
    return report(mc.SVC(C=3.0, kernel=mc.Gaussian(1.0)).fit(X, y), X, y)


def test_the_true_error_is_that_of_leaving_one_out(full, moons):
    X, y = moons
    truth = np.mean(
        cross_val_predict(mc.SVC(C=3.0, kernel=mc.Gaussian(1.0)), X, y, cv=LeaveOneOut()) != y
    )
    assert full.truth == truth
    assert full.measured == "leave one out"


def test_all_bounds_are_listed_and_those_with_confidence_hold(full):
    names = [bound.name for bound in full.bounds]
    assert len(set(names)) == len(names) == 12
    for bound in full.bounds:
        if bound.kind == "bound" and bound.quantity == "leave-one-out error":
            assert full.truth <= bound.value
    assert {bound.kind for bound in full.bounds} == {"bound", "heuristic"}


def test_text_and_page_agree(full):
    text, page = str(full), full._repr_html_()
    for bound in full.bounds:
        assert bound.statement in text
        assert f"<th>{bound.name}</th>" in page
    assert (
        text.count("vacuous here")
        == page.count("vacuous here")
        == sum(bound.vacuous for bound in full.bounds)
    )
    assert "Assumes" in text


def test_the_advice_opens_the_report_and_names_the_informative_value_nearest_to_the_true_error(
    full, moons
):
    X, y = moons
    gaps = {one.name: abs(one.value - full.truth) for one in full.bounds if one.value < one.trivial}
    assert min(gaps, key=gaps.get) in full.advice
    assert f"{len(gaps)} of {len(full.bounds)} values" in full.advice
    assert str(full).splitlines()[1] == full.advice
    assert f"<p>{full.advice}</p>" in full._repr_html_()
    # a bound without a measured error, a bound that says nothing, and no bound
    many = make_moons(800, random_state=0)[0]
    residual = report(mc.KernelPCA(3, kernel=mc.Gaussian(0.01)).fit(many), many)
    assert "compare the squared residual by kernel-PCA residual" in residual.advice
    for nothing in (report(mc.KernelPCA(1, kernel=mc.Gaussian(100.0)).fit(X), X), report(G, X)):
        assert "held-out" in nothing.advice


def test_names_are_escaped_in_html(moons):
    X, _ = moons

    class Odd(type(mc.Gaussian(1.0))):
        def __repr__(self):
            return "<script>"

    assert "<script>" not in report(Odd(1.0), X)._repr_html_()


def test_other_points_measure_the_error_where_they_are_given(moons):
    X, y = moons
    model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, y)
    Z, labels = make_moons(300, noise=0.25, random_state=1)
    found = report(model, X, y, test=(Z, labels))
    assert np.isclose(found.truth, 1 - model.score(Z, labels))
    assert found.measured == "300 test points"


def test_a_column_of_targets_measures_the_error_of_the_vector(moons):
    X, labels = moons
    values = np.sin(2 * X[:, 0])
    for model, y in [
        (mc.SVC(kernel=G), labels),
        (mc.SVR(kernel=G), values),
        (mc.KernelRidge(kernel=G), values),
    ]:
        model.fit(X[:60], y[:60])
        found = report(model, X[:60], y[:60, None], test=(X[60:], y[60:, None]))
        wrong = (
            (model.predict(X[60:]) != y[60:])
            if y is labels
            else (model.predict(X[60:]) - y[60:]) ** 2
        )
        assert np.isclose(found.truth, np.mean(wrong))


def test_a_test_that_does_not_fit_the_model_is_refused_with_the_remedy(moons):
    X, y = moons
    classifier, regression = (
        mc.SVC(kernel=G).fit(X[:60], y[:60]),
        mc.KernelRidge(kernel=G).fit(X[:60], X[:60]),
    )
    for model, targets, test, error, message in [
        (classifier, y, (X[60:],), TypeError, "must be a pair .points, targets.; pass test="),
        (classifier, y, X[60:62], TypeError, "must be a pair"),
        (
            classifier,
            y,
            (X[60:], y[61:]),
            ValueError,
            r"test\[1\] has shape \(39,\), but the predictions .* \(40,\)",
        ),
        (
            classifier,
            y,
            (X[60:], y[60:] + 1),
            ValueError,
            r"test\[1\]\[2\] = 2 must be one of the classes",
        ),
        (
            regression,
            X,
            (X[60:], y[60:]),
            ValueError,
            r"test\[1\] has shape \(40,\), but .* \(40, 2\)",
        ),
        (
            regression,
            X,
            (X[60:], X[60:] * np.nan),
            ValueError,
            r"test\[1\]\[0, 0\] = nan must be finite",
        ),
    ]:
        with pytest.raises(error, match=message):
            report(model, X[:60], targets[:60], test=test)
    # several targets are compared one with one
    squares = (regression.predict(X[60:]) - X[60:]) ** 2
    assert np.isclose(
        report(regression, X[:60], X[:60], test=(X[60:], X[60:])).truth, np.mean(squares)
    )


def test_a_kernel_has_a_geometry_and_no_error(moons):
    found = report(mc.Gaussian("median"), moons[0])
    assert found.bounds == ()
    assert found.truth is None
    assert "radius" in dict(found.facts)["smallest ball"]


@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6])
def test_the_law_of_decay_does_not_depend_on_the_scale_of_the_kernel(factor, moons):
    one, scaled = (dict(report(k, moons[0]).facts)["decay, estimated"] for k in (G, factor * G))
    assert one.split(", scale")[0] == scaled.split(", scale")[0]


@pytest.mark.parametrize(("n", "cut"), [(6, False), (7, True)])
def test_more_than_five_eigenvalues_are_cut(n, cut, moons):
    eigenvalues = dict(report(G, moons[0][:n]).facts)["eigenvalues"]
    assert eigenvalues.startswith(f"{n - 1} above rounding")
    assert eigenvalues.endswith(", ...") == cut


def test_a_given_matrix_is_reported_as_its_kernel(moons):
    X, y = moons
    K = mc.Gaussian(1.0)(X)
    given = report(mc.SVC(C=3.0, kernel="precomputed").fit(K, y), K, y)
    named = report(mc.SVC(C=3.0, kernel=mc.Gaussian(1.0)).fit(X, y), X, y)
    assert given.truth == named.truth
    assert np.allclose([b.value for b in given.bounds], [b.value for b in named.bounds], rtol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        mc.KernelRidge(0.1, kernel=mc.Gaussian(1.0)),
        mc.SVR(kernel=mc.Gaussian(1.0)),
        mc.NuSVR(kernel=mc.Gaussian(1.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressions_are_measured_by_squares(model, moons):
    X, _ = moons
    y = np.sin(2 * X[:, 0]) + np.random.default_rng(0).normal(0, 0.3, 100)
    found = report(model.fit(X, y), X, y)
    assert "squared error" in found.measured
    estimate = found.bounds[0]
    assert not estimate.vacuous
    assert 0.6 < estimate.value / found.truth < 1.6


def test_kernel_pca_has_the_bound_of_its_residual(moons):
    found = report(mc.KernelPCA(3, kernel=mc.Gaussian(0.1)).fit(moons[0]), moons[0])
    assert [bound.name for bound in found.bounds] == ["kernel-PCA residual"]


def test_a_perceptron_has_the_bounds_of_outputs(moons):
    X, y = moons
    X = X + 4 * y[:, None]
    found = report(mc.KernelPerceptron(kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    assert [bound.name for bound in found.bounds] == [
        "Rademacher", "Dudley", "PAC-Bayes margin", "VC margin", "covering numbers",
    ]  # fmt: skip
    assert found.measured == "10 folds"


@pytest.mark.filterwarnings("ignore:the last of 100 passes")
def test_three_classes_have_the_span_rule_and_the_error_of_leaving_one_out(moons):
    X, _ = moons
    y = np.argsort(np.argsort(X[:, 0])) // 34
    found = report(mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, y), X, y)
    assert [one.name for one in found.bounds] == ["span rule"]
    rest = ~np.eye(100, dtype=bool)
    wrong = [mc.SVC(kernel=mc.Gaussian(1.0)).fit(X[r], y[r]).predict(X[~r]) != y[~r] for r in rest]
    assert found.truth == np.mean(wrong)
    assert found.measured == "leave one out"
    perceptron = report(mc.KernelPerceptron(kernel=mc.Gaussian(1.0)).fit(X, y), X, y)
    assert perceptron.bounds == ()
    assert perceptron.measured == "10 folds"


def test_estimators_without_a_kernel_are_refused(moons):
    X, y = moons
    with pytest.raises(NotFittedError, match="SVC instance is not fitted"):
        report(mc.SVC(), X, y)
    for wrong in ("rbf", LogisticRegression().fit(X, y)):
        with pytest.raises(TypeError):
            report(wrong, X, y)


def test_the_callback_counts_geometry_bounds_and_folds_and_its_exceptions_end_the_report(moons):
    (X, y), heard = moons, []
    model = mc.KernelRidge(kernel=G).fit(X[:40], y[:40])
    watched = report(model, X[:40], y[:40], callback=lambda *numbers: heard.append(numbers))
    assert heard == [(i, 12) for i in (*range(1, 13), 12)]
    assert watched.truth == report(model, X[:40], y[:40]).truth

    with pytest.raises(ZeroDivisionError):
        report(G, X, callback=lambda done, most: done / (most - 12))


def test_the_box_from_eigenfunctions_assumes_their_largest_value_on_the_sample():
    kernel, X = mc.Gaussian(0.3), np.random.default_rng(0).normal(size=(40, 2))
    largest = mc.capacity.spectrum(kernel, X).suprema.max()
    facts = dict(report(kernel, X).facts)
    assert f"if no eigenfunction exceeds {largest:.3g}," in facts["box, from eigenfunctions"]


@pytest.mark.parametrize(
    "estimator",
    [mc.SVR(kernel=mc.Gaussian(0.5)), mc.KernelRidge(kernel=mc.Gaussian(0.5))],
    ids=repr,
)
def test_tables_and_lists_are_cut_into_folds(estimator):
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(40, 2))
    expected = report(estimator.fit(X, X[:, 0]), X, X[:, 0]).truth
    for given in (X.tolist(), pandas.DataFrame(X, columns=["a", "b"])):
        assert report(estimator.fit(given, X[:, 0]), given, X[:, 0]).truth == pytest.approx(
            expected, rel=1e-12
        )
    K = mc.Gaussian(0.5)(X)
    cut = type(estimator)(kernel="precomputed")
    for given in (K, K.tolist(), pandas.DataFrame(K)):
        assert report(cut.fit(given, X[:, 0]), given, X[:, 0]).truth == pytest.approx(
            expected, rel=1e-9
        )


@pytest.mark.parametrize("estimator", [mc.KernelFisher(), mc.KernelPerceptron()])
def test_of_few_points_there_are_as_many_folds_as_points_of_the_largest_class(estimator):
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = rng.normal(size=(12, 2)) + 6 * y[:, None]
    found = report(estimator.fit(X, y), X, y)
    assert (found.measured, found.truth) == ("6 folds", 0.0)
    few = report(mc.KernelRidge(kernel=G).fit(X[:5], y[:5]), X[:5], y[:5])
    assert few.measured == "squared error, 5 folds"


def test_a_regression_of_several_quantiles_is_refused_by_its_cause(moons):
    X, _ = moons
    fitted = mc.QuantileSVR([0.3, 0.5], kernel=G).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="1 columns, but QuantileSVR has 2 functions"):
        report(fitted, X, X[:, 0])


def test_warnings_of_kernels_whose_centred_values_are_indefinite_name_the_kernel(moons):
    X, _ = moons
    fitted = mc.KernelRidge(0.1, kernel=mc.kernels.ThinPlate(), free="linear").fit(X, X[:, 0] ** 2)
    with pytest.warns(UserWarning, match="ThinPlate is indefinite on these points") as caught:
        found = report(fitted, X, X[:, 0] ** 2)
    assert found.bounds[0].value == pytest.approx(np.mean(fitted.loo_residuals_**2), rel=1e-12)
    assert not any("_FromOrigin" in str(each.message) for each in caught)
