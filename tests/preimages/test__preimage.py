"""preimage: the automatic method, refused arguments, and recomputed distances."""

import pickle
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import mercer as mc
from mercer.preimages import Distances, FixedPoint, Found, Gradient, preimage

X = np.random.default_rng(0).normal(size=(20, 3))


def test_auto_is_the_fixed_point_for_radial_kernels_and_the_gradient_for_others_with_the_reason():
    radial = preimage(mc.mean(mc.features(mc.Cauchy(1.0), X)))
    assert radial.method == FixedPoint()
    assert radial.reason == "Cauchy is radial: the fixed-point iteration applies"
    other = preimage(mc.mean(mc.features(mc.Polynomial(2), X)))
    assert other.method == Gradient()
    assert other.reason == "Polynomial is not radial, but has a gradient"


@pytest.mark.parametrize("method", ["fixed_point", "gradient", "distances", "learned", "exact"])
def test_a_string_is_the_record_with_its_defaults(method):
    psi = mc.features(mc.Gaussian(0.5), X)
    named = preimage(psi, method)
    np.testing.assert_array_equal(preimage(psi, named.method).points, named.points)
    assert named.method == type(named.method)()


@pytest.mark.parametrize("method", ["fixed_point", "gradient", "distances", "exact"])
def test_sqdist_is_the_distance_of_the_points_as_returned(method):
    psi = mc.features(mc.Gaussian(0.5), X.astype(np.float32)) @ np.abs(
        np.random.default_rng(1).normal(size=(20, 3)) / 9
    )
    answer = preimage(psi, method)
    wide = mc.Expansion(psi.kernel, psi.points.astype(float), psi.coef.astype(float))
    again = mc.sqdist(wide, mc.features(psi.kernel, answer.points.astype(float)), paired=True)
    np.testing.assert_allclose(answer.sqdist, again, rtol=1e-10)


def test_no_mean_is_added_to_psi():
    # the coefficients of a centred eigenvector sum to 0; an added mean would change the distance by |mean|^2
    psi = mc.features(mc.Gaussian(0.5), X) @ np.where(np.arange(20) % 2, 1.0, -1.0)
    answer = preimage(psi)
    np.testing.assert_allclose(
        answer.sqdist, psi.norms() ** 2 + 1 - 2 * psi(answer.points).diagonal(), rtol=1e-12
    )


def test_sparse_rows_give_the_points_of_dense_ones():
    sparse = preimage(mc.mean(mc.features(mc.Gaussian(0.5), sp.csr_matrix(X))))
    np.testing.assert_allclose(
        sparse.points, preimage(mc.mean(mc.features(mc.Gaussian(0.5), X))).points, atol=1e-6
    )


def test_the_preimage_of_a_feature_is_its_point():
    answer = preimage(mc.features(mc.Gaussian(0.5), X))
    np.testing.assert_allclose(answer.points, X, atol=1e-6)
    np.testing.assert_allclose(answer.sqdist, 0, atol=1e-12)


def test_denoised_digits_are_nearer_to_the_clean_ones_than_the_noisy_ones():
    digits = load_digits().data / 16
    clean, train = digits[:40], digits[40:440]
    noisy = clean + np.random.default_rng(0).normal(0, 0.25, clean.shape)
    kernel, n = mc.Gaussian(1 / 20), len(train)
    K, Kt = kernel(train), kernel(noisy, train)
    H = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, V = np.linalg.eigh(H)
    A = V[:, -40:] / np.sqrt(values[-40:])
    weights = (Kt - Kt.mean(axis=1)[:, None] - K.mean(axis=0) + K.mean()) @ A @ A.T
    psi = mc.features(kernel, train) @ (weights + (1 - weights.sum(axis=1))[:, None] / n).T
    before = ((noisy - clean) ** 2).sum(axis=1).mean()
    answers = [preimage(psi, method, noisy) for method in ("fixed_point", "gradient", Distances())]
    for answer in answers:
        assert answer.converged.all(), answer.reason
        assert ((answer.points - clean) ** 2).sum(axis=1).mean() < 0.6 * before
    np.testing.assert_allclose(answers[0].points, answers[1].points, atol=1e-4)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: preimage(X), TypeError, "psi must be an Expansion.*got an object of type ndarray"),
        (
            lambda: preimage(mc.features(mc.Gaussian(1.0), X), "mds"),
            ValueError,
            "method = 'mds' must be one of",
        ),
        (
            lambda: preimage(mc.features(mc.Gaussian(1.0), X), FixedPoint),
            TypeError,
            "method = .* must be a string or a record",
        ),
        (
            lambda: preimage(mc.features(mc.Gaussian(1.0), X), 3),
            TypeError,
            "method = 3 must be a string or a record",
        ),
        (
            lambda: preimage(mc.features(mc.Gaussian(1.0), X), start=X[:2]),
            ValueError,
            r"start has shape \(2, 3\)",
        ),
        (
            lambda: preimage(mc.features(mc.Gaussian(1.0), X), start=X * np.nan),
            ValueError,
            "start contains NaN",
        ),
        (
            lambda: preimage(mc.features(mc.Precomputed().resolve(np.eye(3)), np.arange(3))),
            TypeError,
            "pre-images need input points, and Precomputed has only indices",
        ),
        (
            lambda: preimage(mc.features(mc.Constant(1.0), ["a", "b"]), "gradient"),
            TypeError,
            "Gradient makes rows of numbers.*over points in a list; use method='search'",
        ),
        (
            lambda: preimage(mc.features(mc.FunctionKernel(lambda A, B: A @ B.T), X)),
            TypeError,
            "neither radial nor has a gradient.*method='learned'",
        ),
        (
            lambda: preimage(
                mc.features(
                    mc.FunctionKernel(lambda A, B: np.ones((len(A), len(B)))), np.arange(3.0)
                )
            ),
            TypeError,
            "rows of numbers.*ndarray",
        ),
        (lambda: mc.features(mc.Gaussian(), X), ValueError, "resolve"),
        (
            lambda: preimage(mc.features(mc.on_columns(mc.Linear(), 0), X)),
            TypeError,
            r"rows of numbers.*Table; mercer.reduce\(psi\[:, j\], 1, method='greedy'\) selects one",
        ),
        (
            lambda: preimage(mc.features(mc.Constant(1.0), ["a", "b"]), start=["a"]),
            ValueError,
            "start must have 2 objects",
        ),
        (
            lambda: preimage(mc.features(mc.Gaussian(1.0), X), "search"),
            TypeError,
            "Search looks for objects",
        ),
    ],
)
def test_wrong_arguments_are_refused_with_a_remedy(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("find", [preimage, mc.ray])
def test_a_block_of_no_vectors_is_refused(find):
    with pytest.raises(
        ValueError, match=r"psi must have at least one vector, got 0 vectors over 3 points\."
    ):
        find(mc.features(mc.Gaussian(1.0), np.eye(3))[:, []])
    with pytest.raises(
        ValueError, match=r"psi must have at least one vector, got 0 vectors over 2 points\."
    ):
        preimage(mc.features(mc.Constant(1.0), ["a", "b"])[:, []])


@pytest.mark.parametrize("find", [preimage, mc.ray])
def test_vectors_whose_squared_distances_overflow_are_refused(find):
    phi = mc.features(mc.Gaussian(1.0), X)
    large, plain = find(phi[:, :1] @ np.full((1, 1), 1e149)), find(phi[:, :1])
    assert np.isfinite(large.sqdist).all()
    np.testing.assert_allclose(large.points, plain.points, atol=1e-6)
    with pytest.raises(ValueError, match=r"coef\[0, 0\] = 1e\+153 must be at most 1e\+150"):
        find(phi[:, :1] @ np.full((1, 1), 1e153))
    linear = mc.features(mc.Linear(), np.array([[1e90]]))
    with pytest.raises(ValueError, match=r"psi\(points\)\[0, 0\] = 1e\+160 must be at most"):
        find(linear @ np.full((1, 1), 1e-20))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kernel", [mc.Exp(mc.Linear()), mc.Polynomial(3), mc.Gaussian(0.5)], ids=repr
)
def test_a_point_whose_kernel_values_overflow_is_its_start_and_leaves_the_others_as_they_are(
    kernel, dtype
):
    class Far:
        """A method that moves the second of three points out of the range of the kernel."""

        def require(self, kernel):
            pass

        def find(self, psi, start):
            return Found(
                X[:3] * np.array([[1.0], [1e160], [1.0]]),
                np.ones(3, bool),
                np.zeros(3, int),
                ("",) * 3,
            )

    psi = mc.features(kernel, X.astype(dtype)) @ np.full((20, 3), 0.1, dtype)
    answer = preimage(psi, Far(), start=X[3:6])
    np.testing.assert_array_equal(answer.converged, [True, False, True])
    np.testing.assert_array_equal(answer.points, X[[0, 4, 2]].astype(dtype))
    wide = mc.Expansion(kernel, psi.points.astype(float), psi.coef.astype(float))
    again = mc.sqdist(wide, mc.features(kernel, answer.points.astype(float)), paired=True)
    np.testing.assert_allclose(answer.sqdist, again, rtol=1e-9)
    assert "1 of 3 did not converge: 1: " in answer.reason


def test_the_method_of_distances_has_finite_distances_where_no_feature_has_the_values_of_psi():
    psi = mc.Expansion(
        mc.Exp(mc.Linear()),
        np.array([[0.5, 0.2, -1.0], [1.0, -0.3, 0.4]]),
        np.array([[1.0, -2.0], [0.5, 1.0]]),
    )
    both, first = preimage(psi, "distances"), preimage(psi[:, :1], "distances")
    np.testing.assert_array_equal(both.converged, [True, False])
    assert np.isfinite(both.sqdist).all()
    np.testing.assert_allclose(both.points[0], first.points[0], rtol=1e-12)
    np.testing.assert_allclose(both.sqdist[0], first.sqdist[0], rtol=1e-9)


class Counted(mc.Gaussian):
    """Records of how many points k(x, x) is asked for."""

    calls: ClassVar = []

    def diag(self, X):
        self.calls.append(len(X))
        return super().diag(X)


def test_distances_are_computed_when_they_are_read_and_stay():
    psi = mc.features(Counted(0.5), X)
    answer = preimage(psi, "learned", start=X)
    Counted.calls.clear()
    assert answer.sqdist is answer.sqdist
    assert Counted.calls == [20]
    again = pickle.loads(pickle.dumps(preimage(psi, "learned")))
    np.testing.assert_allclose(again.sqdist, answer.sqdist, atol=1e-12)


def test_reasons_are_counted_the_most_frequent_first():
    class Failing:
        """A method that fails for stated reasons."""

        def __init__(self, *reasons):
            self.reasons = reasons

        def require(self, kernel):
            pass

        def find(self, psi, start):
            n, converged = len(self.reasons), np.array([not reason for reason in self.reasons])
            return Found(X[:n], converged, np.zeros(n, int), self.reasons)

    phi = mc.features(mc.Gaussian(0.5), X)
    reason = preimage(phi[:, :5], Failing("", "a", "b", "b", "a"), start=X[:5]).reason
    assert reason.endswith("4 of 5 did not converge: 2: a; 2: b")
    assert "converge" not in preimage(phi[:, :1], Failing(""), start=X[:1]).reason


def test_squared_distances_are_not_negative():
    answer = preimage(mc.features(mc.Gaussian(0.5), X), start=X)
    assert (answer.sqdist >= 0).all()


@pytest.mark.parametrize("method", ["fixed_point", "gradient", "distances", "learned", "exact"])
def test_the_callback_hears_the_points_that_are_done_and_one_answer_ends_the_run(method):
    psi, heard = mc.features(mc.Gaussian(0.5), X) @ np.ones((20, 3)), []
    answer = preimage(psi, method, callback=lambda *numbers: heard.append(numbers))
    np.testing.assert_array_equal(answer.points, preimage(psi, method).points)
    assert heard == sorted(heard)
    assert heard[-1] == (3, 3)
    if method in ("fixed_point", "gradient"):
        ended = preimage(psi, method, X[:3], callback=lambda *_: True)
        assert ended.n_iter.tolist() == [1, 1, 1]
        assert "the callback ended the run" in ended.reason
    with pytest.raises(TypeError, match="callback must be a function, or None, got 'print'"):
        preimage(psi, method, callback="print")


# --- several starts ---------------------------------------------------------------------------------------------------

POINTS, COEF = np.array([[-1.25773672], [2.57402319]]), np.array([0.24089899, 0.32177331])


def test_of_several_minima_the_lowest_is_returned_and_the_starts_that_reach_it_are_counted():
    psi = mc.Expansion(mc.Polynomial(3), POINTS, COEF)
    single = [mc.preimage(psi, start=point[None]).sqdist[0] for point in POINTS]
    found = mc.preimage(psi)
    assert single == pytest.approx([45.05764, 4.368901], rel=1e-5)
    assert found.sqdist[0] == min(single)
    assert found.agreed.tolist() == [1]
    one = mc.preimage(psi, method=mc.preimages.Gradient(starts=1))
    assert one.sqdist[0] == max(single)
    assert "starts that agreed" in found._repr_html_()


@pytest.mark.parametrize(
    "kernel", [mc.Polynomial(3), mc.Polynomial(2), mc.Gaussian(1.0), mc.Gaussian(1.0) + mc.Linear()]
)
@pytest.mark.parametrize("function", [mc.preimage, mc.ray])
def test_more_starts_never_end_farther_away(kernel, function, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    psi = mc.Expansion(kernel, rng.normal(size=(12, 2)), rng.normal(size=(12, 5)))
    method = type(function(psi).method)
    distances = [function(psi, method=method(starts=count)).sqdist for count in (1, 2, 4, 12, 30)]
    size = psi.norms() ** 2
    for fewer, more in zip(distances, distances[1:], strict=False):
        assert (more <= fewer + 1e-9 * size).all()
    # from one start the answer is that of the start
    if function is mc.preimage:
        values = psi(psi.points)
        nearest = np.argmin(kernel.diag(psi.points)[:, None] - 2 * values, axis=0)
        given = mc.preimage(psi, start=psi.points[nearest])
        np.testing.assert_allclose(given.sqdist, distances[0], rtol=1e-9, atol=1e-12)
        assert given.agreed.tolist() == [1] * 5


def test_a_negative_squared_distance_of_an_indefinite_kernel_is_shown_and_warned_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    psi = mc.Expansion(mc.Sigmoid(1.0, -1.0), X, rng.normal(size=(12, 3)))
    with pytest.warns(UserWarning, match="3 of 3 pre-images have negative squared distances, down"):
        found = mc.preimage(psi)
    assert not found.converged.any()
    assert "3 did not converge: 3: its squared distance is negative, as Sigmoid" in found.reason
    z = found.points
    own = np.sum(psi.coef * psi(X), axis=0) + psi.kernel.diag(z)
    expected = own - 2 * np.diagonal(psi(z))
    np.testing.assert_allclose(found.sqdist, expected, rtol=1e-10)
    assert (found.sqdist < 0).all()
