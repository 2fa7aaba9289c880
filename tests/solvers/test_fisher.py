"""Fisher discriminants: the generalised eigenproblem, on the kernel matrix and on coordinates; log posteriors."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from mercer.solvers.fisher import discriminants, log_posteriors

rng = np.random.default_rng(0)
CLASSES = rng.integers(0, 4, 80)
X = rng.standard_normal((80, 3)) + np.eye(4)[CLASSES, :3]
GAUSSIAN, MU = mc.Gaussian(0.5), 1e-2
PHI = mc.features(GAUSSIAN, X)


def scatters(Z):
    """Return the scatter between classes and within them of points in rows."""
    means = np.array([Z[c == CLASSES].mean(axis=0) for c in range(4)])[CLASSES]
    between, within = means - Z.mean(axis=0), Z - means
    return between.T @ between, within.T @ within


def centred():
    H = np.eye(80) - 1 / 80
    return H @ GAUSSIAN(X) @ H


@pytest.fixture(scope="module")
def coordinates():
    """Eigenvectors U, eigenvalues and coordinates Y' = U Lambda^(1/2) of the centred features."""
    values, U = np.linalg.eigh(centred())
    kept = values > 1e-12 * values[-1]
    values, U = values[kept], U[:, kept]
    return U, values, U * np.sqrt(values)


def test_directions_solve_the_eigenproblem_of_the_kernel_matrix():
    found, K = discriminants(PHI, CLASSES, MU), centred()
    between, within = scatters(K)
    A = found.expansion.coef
    left, right = between @ A, (within + MU * K) @ A * found.eigenvalues
    np.testing.assert_allclose(left, right, atol=1e-10 * np.abs(left).max())
    np.testing.assert_allclose(A.T @ (within + MU * K) @ A, 80 * np.eye(3), atol=1e-9)


def test_directions_are_those_of_linear_discriminant_analysis_on_coordinates(coordinates):
    U, values, Y = coordinates
    between, within = scatters(Y)
    eigenvalues, beta = scipy.linalg.eigh(between, within + MU * np.eye(len(values)))
    eigenvalues, beta = eigenvalues[:-4:-1], np.sqrt(80) * beta[:, :-4:-1]
    found = discriminants(PHI, CLASSES, MU)
    np.testing.assert_allclose(found.eigenvalues, eigenvalues, rtol=1e-10)
    alpha = (U / np.sqrt(values)) @ beta
    # compared by values: coefficients are determined up to the null space of the features
    ours, theirs = aligned_values(found.expansion.coef, alpha)
    np.testing.assert_allclose(ours, theirs, atol=1e-10 * np.abs(theirs).max())


def aligned_values(ours, theirs):
    """Return values of both at the training points, with the signs of the second."""
    ours, theirs = centred() @ ours, centred() @ theirs
    return ours * np.sign((ours * theirs).sum(axis=0)), theirs


def test_means_and_intercept_are_those_of_the_training_points():
    found = discriminants(PHI, CLASSES, MU)
    Z = found.expansion(X) + found.intercept
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(
        found.means, [Z[c == CLASSES].mean(axis=0) for c in range(4)], atol=1e-11
    )
    assert (found.means[-1] >= 0).all()


def test_four_points_on_a_line_have_the_eigenvalue_and_means_of_a_calculation_by_hand():
    """Means 1 and 11 about 6, S_B = 4 * 25 and S_W = 4: the eigenvalue is 25, and w = 1 has w'S_W w = n."""
    line = mc.features(mc.Linear(), np.array([[0.0], [2.0], [10.0], [12.0]]))
    found = discriminants(line, np.array([0, 0, 1, 1]), 1e-6)
    np.testing.assert_allclose(found.eigenvalues, [25], rtol=1e-6)
    np.testing.assert_allclose(found.means, [[-5], [5]], rtol=1e-6)
    np.testing.assert_allclose(
        found.expansion(np.array([[1.0]])) + found.intercept, [[-5]], rtol=1e-6
    )


def test_the_first_directions_are_those_of_all():
    every, two = discriminants(PHI, CLASSES, MU), discriminants(PHI, CLASSES, MU, n=2)
    np.testing.assert_allclose(two.eigenvalues, every.eigenvalues[:2], rtol=1e-13)
    np.testing.assert_allclose(two.expansion(X), every.expansion(X)[:, :2], atol=1e-10)
    np.testing.assert_allclose(two.means, every.means[:, :2], atol=1e-12)


def test_log_posteriors_are_those_of_gaussian_classes_up_to_a_constant_of_each_point():
    means, priors = np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]]), np.array([0.2, 0.5, 0.3])
    Z = rng.standard_normal((9, 2))
    density = np.stack(
        [scipy.stats.multivariate_normal(m).logpdf(Z) for m in means], axis=1
    ) + np.log(priors)
    ours = log_posteriors(Z, means, priors)
    np.testing.assert_allclose(
        scipy.special.softmax(ours, 1), scipy.special.softmax(density, 1), rtol=1e-12
    )
    np.testing.assert_allclose(ours - ours[:, :1], density - density[:, :1], atol=1e-12)


@pytest.mark.parametrize("memory", ["1GB", "1kB"], ids=["direct", "iterative"])
def test_weights_are_repetitions(memory):
    weights = rng.integers(0, 4, 80)
    rows = np.repeat(np.arange(80), weights)
    ours = discriminants(PHI, CLASSES, MU, weights, memory=memory)
    theirs = discriminants(PHI[:, rows], CLASSES[rows], MU)
    tolerance = 1e-10 if memory == "1GB" else 1e-6
    np.testing.assert_allclose(ours.eigenvalues, theirs.eigenvalues, rtol=tolerance)
    np.testing.assert_allclose(
        ours.expansion(X) + ours.intercept,
        theirs.expansion(X) + theirs.intercept,
        atol=10 * tolerance,
    )
    assert ours.residual <= 1e-8


def test_fully_separated_classes_have_a_direction():
    far = np.concatenate([X[:40], X[:40] + 100])
    labels = np.repeat([0, 1], 40)
    found = discriminants(mc.features(mc.Gaussian(1e-4), far), labels, 1e-9)
    z = (found.expansion(far) + found.intercept)[:, 0]
    assert z[labels == 0].max() < z[labels == 1].min()
    assert np.isfinite(found.eigenvalues).all()


@pytest.mark.parametrize("mu", [1e-9, 1e-2])
def test_below_rounding_mu_gives_the_directions_within_the_range_of_the_kernel(mu):
    line = 1e3 * X[:, :1]
    between, within = scatters(line**2)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "directions are accurate to a share of 1 only: mu =|.*relative residual"
        )
        found = discriminants(mc.features(mc.Polynomial(2, 1.0, 0.0), line), CLASSES, mu)
    np.testing.assert_allclose(found.eigenvalues, between[0] / within[0], rtol=1e-6)


def test_directions_that_rounding_decides_are_said_to_be_inaccurate():
    with pytest.warns(
        ConvergenceWarning,
        match="accurate to a share of .* only: mu = 0.001 multiplies the rounding",
    ):
        discriminants(mc.features(mc.Linear(), 1e5 + X[:, :1]), CLASSES, 1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_directions_without_regularisation_are_those_of_the_scatters_in_the_span(weighted):
    # monomials of degree 0 to 2, 10 coordinates for 80 points; copies stand for weights
    kernel = mc.Polynomial(2, 1.0, 1.0)
    counts = np.random.default_rng(1).integers(1, 4, 80) if weighted else np.ones(80, int)
    phi = mc.features(kernel, X)
    monomials = [np.ones(80), *(np.sqrt(2) * X).T]
    monomials += [
        (1 if i == j else np.sqrt(2)) * X[:, i] * X[:, j] for i in range(3) for j in range(i + 1)
    ]
    F = np.column_stack(monomials)
    np.testing.assert_allclose(F @ F.T, kernel(X), rtol=1e-12, atol=1e-12)
    c = np.repeat(CLASSES, counts)
    Z = np.repeat(F[:, 1:], counts, axis=0)
    means = np.array([Z[c == k].mean(axis=0) for k in range(4)])[c]
    within = (Z - means).T @ (Z - means)
    between = (means - Z.mean(axis=0)).T @ (means - Z.mean(axis=0))
    expected, B = scipy.linalg.eigh(between, within)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = discriminants(phi, CLASSES, 0.0, counts.astype(float) if weighted else None)
    np.testing.assert_allclose(found.eigenvalues, expected[:-4:-1], rtol=1e-9)
    scores = (F[:, 1:] - Z.mean(axis=0)) @ B[:, :-4:-1] * np.sqrt(counts.sum())
    np.testing.assert_allclose(
        np.abs(found.expansion(X) + found.intercept), np.abs(scores), rtol=1e-6, atol=1e-6
    )
    # the limit of small mu
    near = discriminants(phi, CLASSES, 1e-4, counts.astype(float) if weighted else None)
    np.testing.assert_allclose(found.eigenvalues, near.eigenvalues, rtol=1e-4)


def test_points_without_scatter_within_classes_have_bounds_only_without_regularisation():
    with pytest.warns(ConvergenceWarning, match="rounding hides the scatter within classes"):
        found = discriminants(PHI, CLASSES, 0.0)
    assert found.eigenvalues[0] > 1e12


def test_float32_stays_float32():
    narrow = discriminants(mc.features(GAUSSIAN, X.astype(np.float32)), CLASSES, 0.1)
    wide = discriminants(PHI, CLASSES, 0.1)
    assert narrow.expansion.coef.dtype == narrow.intercept.dtype == narrow.means.dtype == np.float32
    np.testing.assert_allclose(narrow.eigenvalues, wide.eigenvalues, rtol=1e-3)


@pytest.mark.parametrize(
    ("classes", "mu", "message"),
    [
        (CLASSES, -1.0, "mu = -1.0 must be at least 0"),
        (np.zeros(80, int), 1.0, "classes must be at least two"),
        (2 * CLASSES, 1.0, "class 1 has no points"),
        (CLASSES[:-1], 1.0, "80 whole numbers"),
        (CLASSES - 1, 1.0, "numbered from 0"),
    ],
)
def test_bad_arguments_are_refused(classes, mu, message):
    with pytest.raises(ValueError, match=message):
        discriminants(PHI, classes, mu)


def test_classes_with_one_mean_have_no_discriminant():
    same = mc.features(GAUSSIAN, np.concatenate([X, X]))
    with pytest.raises(ValueError, match="no discriminant: the means of the 2 classes are equal"):
        discriminants(same, np.repeat([0, 1], 80), 1.0)


def test_classes_without_scatter_within_beside_the_rounding_of_kernel_values_cause_a_warning():
    # the eigenvalue is that of the scatter between over mu, 1e22 here: 1 / (1 + it) is below the rounding of 1
    phi = mc.features(mc.Linear(), np.array([[1e8], [1e8], [-1e8]]))
    with pytest.warns(
        ConvergenceWarning,
        match="rounding hides the scatter within classes.* mu = 1e-06 .* larger mu",
    ):
        found = discriminants(phi, np.array([0, 0, 1]), 1e-6)
    assert found.eigenvalues[0] < 1e-3 * (8 / 3 * 1e16 / 1e-6)
    found = discriminants(phi, np.array([0, 0, 1]), 1e6)
    np.testing.assert_allclose(found.eigenvalues, 8 / 3 * 1e16 / 1e6, rtol=1e-2)


def test_thousands_of_classes_take_no_array_of_their_squared_number():
    C = 4000
    X = np.random.default_rng(0).normal(size=(2 * C, 3))
    y = np.arange(2 * C) // 2
    tracemalloc.start()
    model = mc.KernelFisher(2, kernel=mc.Gaussian(0.5), landmarks=10, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * C**2 / 4
    # the score of a class is the mean of those of its points
    scores = model.transform(X)
    np.testing.assert_allclose(
        model.means_, (scores[::2] + scores[1::2]) / 2, rtol=0, atol=1e-9 * np.abs(scores).max()
    )
