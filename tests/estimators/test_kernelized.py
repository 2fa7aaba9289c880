"""Kernelized: kernel methods from linear ones, delegation, and attributes of wrapped estimators."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

import mercer as mc
from mercer.estimators.kernelized import Kernelized
from mercer.estimators.pca_l1 import PCAL1

# The axes, and their cut at tol, do not depend on the weights; estimators that use single axes therefore fail these.
_AXES = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}

# Wrapped estimators, options, and the checks that fail only for the wrapper (apart from weights that it refuses).
WRAPPED = [
    (PCA(2), {}, set()),
    (PCAL1(2, n_init=2), {}, set()),
    (StandardScaler(), {"tol": 1e-6}, _AXES),
    (LogisticRegression(tol=1e-10), {"tol": 1e-3}, _AXES),
    (LinearSVC(random_state=0), {"tol": 1e-3}, set()),
    (LinearDiscriminantAnalysis(), {"tol": 1e-2}, set()),
    (KNeighborsClassifier(), {"tol": 1e-3}, set()),
    (DecisionTreeClassifier(random_state=0), {"tol": 1e-3}, _AXES),
    (GaussianNB(), {"tol": 1e-3}, _AXES),
    (Ridge(), {}, set()),
    (LinearRegression(), {"tol": 1e-3}, set()),
    (KNeighborsRegressor(), {}, set()),
    (DecisionTreeRegressor(random_state=0), {}, _AXES),
    (KMeans(2, n_init=1, random_state=0), {}, set()),
    (AgglomerativeClustering(2), {}, set()),
    (DBSCAN(), {}, set()),
    (IsolationForest(n_estimators=3, random_state=0), {"tol": 1e-3}, set()),
    (LocalOutlierFactor(novelty=True), {}, set()),
    (OneClassSVM(kernel="linear", nu=0.2), {}, set()),
]
# one of each type in every run, all of them in the slow tests
_ALWAYS = (PCAL1, KNeighborsRegressor, KMeans, LocalOutlierFactor, GaussianNB)
CASES = [
    pytest.param(
        *case,
        id=type(case[0]).__name__,
        marks=[] if isinstance(case[0], _ALWAYS) else pytest.mark.slow,
    )
    for case in WRAPPED
]


def failures(estimator):
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    return {result["check_name"] for result in results if result["status"] == "failed"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("inner", "options", "stated"), CASES)
def test_it_passes_the_checks_that_the_wrapped_estimator_passes_except_for_those_stated(
    inner, options, stated
):
    own = failures(Kernelized(inner, **options)) - failures(inner)
    if not has_fit_parameter(inner, "sample_weight"):
        # fit has an argument for weights, and refuses them
        own = {name for name in own if "sample_weight" not in name}
    assert own == stated


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((60, 4))


@pytest.fixture
def moons(global_random_seed):
    return make_moons(80, noise=0.1, random_state=global_random_seed)


# a narrow kernel, whose matrix is well conditioned
NARROW = mc.Gaussian(2.0)


def test_pca_becomes_kernel_pca(points):
    new = points[::-1] + 0.1
    ours, theirs = (
        Kernelized(PCA(5), NARROW).fit(points),
        mc.KernelPCA(5, kernel=NARROW).fit(points),
    )
    scores, expected = ours.transform(new), theirs.transform(new)
    np.testing.assert_allclose(
        scores * np.sign((scores * expected).sum(axis=0)), expected, atol=1e-10
    )


@pytest.mark.parametrize("centre", [True, False])
def test_ridge_without_intercept_becomes_kernel_ridge(points, centre):
    y, new = points[:, 0] ** 2, points[:9] + 0.1
    model = Kernelized(Ridge(alpha=0.3, fit_intercept=False), NARROW, centre=centre).fit(points, y)
    K, k = NARROW(points), NARROW(new, points)
    if centre:
        means = K.mean(axis=0)
        k = k - k.mean(axis=1)[:, None] - means + K.mean()
        K = K - means - means[:, None] + K.mean()
    expected = k @ np.linalg.solve(K + 0.3 * np.eye(60), y)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-10)


def test_a_linear_svm_becomes_the_kernel_svm(moons):
    X, y = moons
    theirs = SVC(kernel="rbf", gamma=2.0, C=3, tol=1e-10).fit(X, y)
    ours = Kernelized(SVC(kernel="linear", C=3, tol=1e-10), NARROW).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    # both are LIBSVM, which keeps kernel values in float32: their inverse magnifies the rounding of decision values
    least = np.linalg.eigvalsh(NARROW(theirs.support_vectors_))[0]
    np.testing.assert_allclose(ours.estimator_.dual_coef_, theirs.dual_coef_, atol=1e-6 / least)


@pytest.mark.parametrize("kernel", [NARROW, mc.Gaussian(0.02)], ids=["narrow", "wide"])
def test_nearest_neighbours_are_those_of_feature_space(points, kernel):
    y = np.arange(60) % 3
    expected = KNeighborsClassifier(4).fit(points, y).predict(points)
    # a Gaussian kernel decreases with distance, and training points lie in the span
    np.testing.assert_array_equal(
        Kernelized(KNeighborsClassifier(4), kernel).fit(points, y).predict(points), expected
    )


@pytest.mark.parametrize(
    "inner",
    [
        LinearSVC(random_state=0),
        Ridge(),
        PCA(3, whiten=True),
        PCAL1(2),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_affine_output_is_an_expansion_and_an_intercept(moons, inner):
    X, y = moons
    model = Kernelized(inner, NARROW, tol=1e-3).fit(X, y)
    name = next(
        name for name in ("decision_function", "predict", "transform") if hasattr(model, name)
    )
    if name == "predict" and hasattr(model, "transform"):
        name = "transform"
    scores = getattr(model, name)(X[:9] + 0.1)
    psi = model.expansion_
    assert isinstance(psi, mc.Expansion)
    np.testing.assert_allclose(
        psi(X[:9] + 0.1) + model.intercept_, scores.reshape(9, -1), atol=1e-9
    )


def test_the_expansion_of_a_linear_regression_is_a_calculation_by_hand():
    """y = 2 x + 1 over x = 0, 2, 4: centred coordinates x - 2, weight 2 and intercept 5."""
    X = np.array([[0.0], [2.0], [4.0]])
    model = Kernelized(LinearRegression(), "linear").fit(X, 2 * X[:, 0] + 1)
    np.testing.assert_allclose(model.expansion_(np.array([[3.0]])), [[6.0]], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("inner", "affine"), [(DecisionTreeRegressor(random_state=0), False), (Ridge(1e-3), True)]
)
def test_a_constant_in_the_targets_does_not_decide_whether_the_output_is_affine(
    moons, inner, affine
):
    X, c = moons
    # times of day in seconds since 1970
    model = Kernelized(inner, NARROW).fit(X, 1.7e9 + 600.0 * c)
    assert hasattr(model, "expansion_") == affine
    if affine:
        # the constant is rounded by 2e-7 in every term
        np.testing.assert_allclose(
            model.expansion_(X)[:, 0] + model.intercept_, model.predict(X), atol=1e-3
        )


def test_an_expansion_before_the_fit_is_refused_by_name():
    with pytest.raises(AttributeError, match="Kernelized is not fitted yet; call fit first"):
        _ = Kernelized(Ridge(), NARROW).expansion_


@pytest.mark.parametrize(("bend", "affine"), [(1e-4, False), (1e-9, True)])
def test_output_is_affine_up_to_a_relative_deviation_of_1e_minus_6(moons, bend, affine):
    model = Kernelized(FunctionTransformer(lambda Y: Y + bend * Y**2), NARROW).fit(moons[0])
    assert hasattr(model, "expansion_") == affine


@pytest.mark.parametrize(
    "inner", [DecisionTreeRegressor(), KMeans(2, n_init=1), KNeighborsClassifier()]
)
def test_output_that_is_not_affine_has_no_expansion(moons, inner):
    model = Kernelized(inner, NARROW).fit(*moons)
    assert not hasattr(model, "expansion_")
    assert not hasattr(Kernelized(inner, NARROW), "expansion_")


def test_the_inverse_transform_of_all_directions_of_pca_l1_is_exact(points):
    model = Kernelized(PCAL1(n_init=1), mc.Linear()).fit(points)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(points[:5])), points[:5], atol=1e-6
    )


def test_a_method_is_available_if_the_wrapped_estimator_has_it(moons):
    assert not hasattr(Kernelized(Ridge()), "transform")
    assert not hasattr(Kernelized(PCA()), "predict")
    assert not hasattr(Kernelized(LinearSVC()), "predict_proba")
    with pytest.raises(AttributeError, match="inverse_transform"):
        Kernelized(KMeans(2)).fit(moons[0]).inverse_transform(np.ones((1, 2)))


def test_clusterers_give_labels_and_outlier_detectors_offsets(moons):
    X, _ = moons
    clusters = Kernelized(AgglomerativeClustering(2), NARROW)
    np.testing.assert_array_equal(clusters.fit_predict(X), clusters.labels_)
    outliers = Kernelized(LocalOutlierFactor(novelty=True), NARROW).fit(X)
    np.testing.assert_allclose(
        outliers.score_samples(X) - outliers.offset_, outliers.decision_function(X)
    )


def test_precomputed_and_given_points_agree(moons):
    X, y = moons
    direct = Kernelized(LogisticRegression(), NARROW).fit(X, y)
    given = Kernelized(LogisticRegression(), "precomputed").fit(NARROW(X), y)
    np.testing.assert_allclose(
        given.decision_function(NARROW(X[:5] + 0.1, X)),
        direct.decision_function(X[:5] + 0.1),
        atol=1e-8,
    )


def test_landmarks_limit_the_coordinates(moons):
    X, y = moons
    model = Kernelized(LogisticRegression(C=100), NARROW, landmarks=15, random_state=0).fit(X, y)
    assert model.estimator_.n_features_in_ <= 15
    assert model.score(X, y) > 0.9


def test_grid_search_reaches_kernel_and_estimator(moons):
    grid = {"kernel__gamma": [0.01, 2.0], "estimator__C": [0.1, 10.0]}
    search = GridSearchCV(Kernelized(LogisticRegression()), grid, cv=3).fit(*moons)
    assert search.best_estimator_.kernel_.gamma == search.best_params_["kernel__gamma"] == 2.0
    assert search.best_params_["estimator__C"] == search.best_estimator_.estimator_.C


def test_weights_count_as_repetitions(moons, global_random_seed):
    X, y = moons
    times = np.random.default_rng(global_random_seed).integers(1, 4, len(y))
    weighted = Kernelized(Ridge(), "rbf", tol=1e-8).fit(X, y, sample_weight=times)
    repeated = Kernelized(Ridge(), "rbf", tol=1e-8).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert weighted.kernel_.gamma == pytest.approx(repeated.kernel_.gamma, rel=1e-12)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)


def test_fit_does_not_change_the_wrapped_estimator_or_the_kernel(moons):
    inner = LogisticRegression()
    model = Kernelized(inner).fit(*moons)
    assert not hasattr(inner, "coef_")
    assert model.kernel == "rbf"
    assert clone(model).estimator.get_params() == inner.get_params()


def test_pandas_output_keeps_the_index(moons):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(moons[0], columns=["a", "b"], index=np.arange(80) + 100)
    out = Kernelized(PCA(2), NARROW).set_output(transform="pandas").fit(frame).transform(frame)
    assert out.index.equals(frame.index)
    assert list(out.columns) == ["pca0", "pca1"]


@pytest.mark.parametrize(
    ("inner", "error", "message"),
    [
        (MultinomialNB(), ValueError, "MultinomialNB needs nonnegative input"),
        (LogisticRegression, TypeError, "estimator must be an estimator"),
        (3, TypeError, "estimator must be an estimator"),
    ],
)
def test_unsuitable_estimators_are_refused(moons, inner, error, message):
    with pytest.raises(error, match=message):
        Kernelized(inner).fit(*moons)


def test_estimators_of_nonnegative_input_work_behind_a_scaler(moons):
    X, y = moons
    model = Kernelized(
        make_pipeline(MinMaxScaler(clip=True), MultinomialNB()), NARROW, tol=1e-2
    ).fit(X, y)
    assert model.score(X, y) > 0.8


def test_weights_that_the_wrapped_estimator_does_not_take_are_refused(moons):
    X, y = moons
    with pytest.raises(ValueError, match="KNeighborsClassifier takes none"):
        Kernelized(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(80))


def test_an_unfitted_model_raises_not_fitted_error(moons):
    with pytest.raises(NotFittedError):
        Kernelized(Ridge()).predict(moons[0])


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), "precomputed"])
def test_its_certificate_is_that_of_its_coordinates(global_random_seed, kernel):
    X = np.random.default_rng(global_random_seed).standard_normal((40, 3))
    points = X @ X.T if kernel == "precomputed" else X
    model = mc.Kernelized(mc.PCAL1(2, random_state=0), kernel).fit(points)
    assert mc.certify(model, points).residuals.max() < 1e-13
    assert mc.certify(model.estimator_, model.map_.transform(points)).residuals.max() < 1e-12
    model.map_.expansion_ = 1.1 * model.map_.expansion_
    assert mc.certify(model, points).residuals.max() > 1e-3


def test_rows_of_a_dask_array_are_computed_once(moons):
    da, (X, y), computed = pytest.importorskip("dask.array"), moons, []

    def block(rows):
        computed.append(len(rows))
        return rows

    rows = da.from_array(X, chunks=(len(X), 2)).map_blocks(block, dtype=X.dtype, meta=X[:0])
    model = Kernelized(Ridge(), NARROW).fit(rows, y)
    assert computed == [len(X)]
    np.testing.assert_array_equal(
        model.predict(X), Kernelized(Ridge(), NARROW).fit(X, y).predict(X)
    )


class SphericalPCA(TransformerMixin, BaseEstimator):
    """Principal components of the directions from the spatial median (Locantore and others 1999)."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y=None):
        centre = X.mean(axis=0)
        for _ in range(200):
            weights = 1 / np.linalg.norm(X - centre, axis=1)
            centre = weights @ X / weights.sum()
        self.centre_ = centre
        directions = (X - centre) * weights[:, None]
        self.components_ = np.linalg.svd(directions, full_matrices=False)[2][: self.n_components]
        return self

    def transform(self, X):
        return (X - self.centre_) @ self.components_.T


def test_a_robust_pca_from_outside_becomes_robust_kernel_pca(points):
    kernel = mc.Gaussian(0.5)
    model = Kernelized(SphericalPCA(3), kernel).fit(points)
    # the same from kernel values alone: the spatial median is a combination of feature vectors
    K = kernel(points)
    c = np.full(len(K), 1 / len(K))
    for _ in range(200):
        weights = 1 / np.sqrt(np.diag(K) - 2 * K @ c + c @ K @ c)
        c = weights / weights.sum()
    H = np.eye(len(K)) - c
    values, V = np.linalg.eigh(weights[:, None] * (H @ K @ H.T) * weights)
    A = weights[:, None] * V[:, :-4:-1] / np.sqrt(values[:-4:-1])
    np.testing.assert_allclose(np.abs(model.transform(points)), np.abs(H @ K @ H.T @ A), atol=1e-7)
    # the components are vectors of the feature space
    np.testing.assert_allclose(
        model.expansion_(points) + model.intercept_, model.transform(points), atol=1e-9
    )


def test_outliers_turn_kernel_pca_further_than_spherical_kernel_pca(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    inliers = rng.normal(size=(100, 4)) * [3.0, 0.5, 0.5, 0.5]
    outliers = rng.normal(size=(8, 4)) + [0.0, 40.0, 0.0, 0.0]
    X = np.vstack([inliers, outliers])
    axis = np.eye(4)[:1]
    shares = []
    for model in (PCA(1), SphericalPCA(1)):
        psi = Kernelized(model, mc.Linear()).fit(X).expansion_
        shares.append(abs(psi(axis)[0, 0]) / psi.norms()[0])
    assert shares[0] < 0.3
    assert shares[1] > 0.9
