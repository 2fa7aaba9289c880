"""The checks pass for every kernel and expansion, and name the law that a wrong one breaks."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.reference.instances import KERNELS, ROWS

import mercer as mc
from mercer._compute.tile import Tile
from mercer.kernels.base import Kernel
from mercer.testing import (
    check_expansion_laws,
    check_kernel_implementation,
    check_structured_estimator,
)

X = np.random.default_rng(3).random((12, 3))


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_obeys_the_laws_of_kernels(name):
    # away from 0, where differences of square roots are inaccurate
    check_kernel_implementation(KERNELS[name], X + 0.1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_expansions_over_every_kernel_obey_the_laws_of_expansions(name, dtype):
    points = X.astype(dtype)
    check_expansion_laws(mc.features(KERNELS[name], points))
    check_expansion_laws(
        mc.Expansion(KERNELS[name], points, np.cos(np.arange(36.0)).reshape(12, 3).astype(dtype))
    )


@pytest.mark.parametrize("name", ["chi2", "linear_map", "columns", "conformal"])
def test_kernels_on_rows_need_no_points(name):
    check_kernel_implementation(ROWS[name])


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Mapped(mc.Gaussian(1.0), np.array([0, 5])),
        mc.Mapped(mc.Gaussian(1.0), np.array([-1, -5])),
        mc.Mapped(mc.Linear(), np.arange(1.0, 6.0)) * mc.Cauchy(0.5) + 1.0,
        mc.Mapped(mc.Linear(), np.ones((1, 2))),
        # images of 32 x 32 pixels in three colours
        mc.Mapped(mc.Linear(), np.full((1, 3072), 0.01)),
    ],
    ids=repr,
)
def test_the_default_points_have_as_many_columns_as_the_maps_of_the_kernel_need(kernel):
    check_kernel_implementation(kernel)


def test_precomputed_obeys_the_laws_of_kernels_and_expansions():
    kernel = mc.Precomputed().resolve(mc.Gaussian(1.0)(X))
    check_kernel_implementation(kernel)
    check_expansion_laws(
        mc.Expansion(kernel, np.arange(12), np.sin(np.arange(24.0)).reshape(12, 2)), np.arange(5)
    )


def test_kernels_on_objects_need_points():
    kernel = mc.FunctionKernel(
        lambda A, B: np.array([[float(len(a) + len(b)) for b in B] for a in A])
    )
    with pytest.raises(ValueError, match="give points that it takes as X"):
        check_kernel_implementation(kernel)
    check_kernel_implementation(kernel, ["a", "bb", "", "cccc", "dd", "e", "fff"])


def test_a_kernel_defined_in_a_function_is_checked_except_for_pickle():
    @dataclass(frozen=True, eq=False)
    class Written(mc.Radial):
        gamma: float = 0.5
        power: float = 1.0

        @staticmethod
        def profile(xp, s, gamma, power, order=0):
            value = xp.exp(-gamma * s)
            for _ in range(order):
                value = -gamma * power * value
            return value

    check_kernel_implementation(Written(), X)
    check_kernel_implementation(mc.Normalized(Written() + mc.Linear()), X)
    with pytest.raises(
        AssertionError, match="vjp = central differences does not hold for .*Written"
    ):
        check_kernel_implementation(Written(power=2.0), X)


# --- wrong kernels ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Wrong(mc.Gaussian):
    """A Gaussian kernel with one thing wrong at a time."""

    gamma: float = 0.7

    __hash__ = mc.Gaussian.__hash__


class Asymmetric(Wrong):
    def evaluate(self, tile):
        return super().evaluate(tile) + 1e-3 * tile.X.container[:, :1]


class WrongDiagonal(Wrong):
    def diagonal(self, points):
        return super().diagonal(points) * 1.001


class Indefinite(Wrong):
    def evaluate(self, tile):
        return super().evaluate(tile) - 0.5

    def diagonal(self, points):
        return super().diagonal(points) - 0.5


class WrongGradient(Wrong):
    def gradient(self, tile, W):
        return 1.01 * super().gradient(tile, W)


class WrongDiagonalGradient(mc.Polynomial):
    def diagonal_gradient(self, points, w):
        return 0.5 * super().diagonal_gradient(points, w)


class AlwaysDouble(Wrong):
    def evaluate(self, tile):
        return super().evaluate(tile).astype(np.float64)


class DependsOnNeighbours(Wrong):
    scalar = None

    def evaluate(self, tile):
        return super().evaluate(tile) + 1e-3 * len(tile.X)

    def diagonal(self, points):
        return super().diagonal(points) + 1e-3 * len(points)


class EqualToAll(Wrong):
    def __eq__(self, other):
        return isinstance(other, Kernel)

    __hash__ = Kernel.__hash__


class NeverEqual(Wrong):
    def __eq__(self, other):
        return self is other

    __hash__ = Kernel.__hash__


class WrongSlope(Wrong):
    @staticmethod
    def profile(xp, s, gamma, order=0):
        return xp.exp(-gamma * s) * (
            1 if order == 0 else (-gamma) ** order * (1.1 if order == 3 else 1)
        )


class EvaluatesRules(Wrong):
    def unresolved(self):
        return None

    def evaluate(self, tile):
        return (
            super().evaluate(tile)
            if isinstance(self.gamma, float)
            else mc.Gaussian(1.0).evaluate(tile)
        )


class ForgetsSparse(Wrong):
    def evaluate(self, tile):
        return super().evaluate(tile) * (0.9 if tile.X.sparse else 1.0)


class MixesTermsInSinglePrecision(Wrong):
    explicit = True
    scalar = None

    def multiply(self, X, Z, V):
        if X.dtype == np.float32:
            V = V[::-1]
        K = self.evaluate(Tile(X, Z))
        return K @ V.astype(K.dtype)


WRONG = [
    (Asymmetric(), "symmetry"),
    (WrongDiagonal(), r"diag\(X\)"),
    (Indefinite(), "no negative eigenvalue"),
    (WrongGradient(), "vjp"),
    (WrongDiagonalGradient(2), "vjp"),
    (AlwaysDouble(), "float32 out"),
    (DependsOnNeighbours(), "matmul|tiles|symmetry|diag"),
    (EqualToAll(), "inequality"),
    (NeverEqual(), "equality"),
    (WrongSlope(), "order 3"),
    (EvaluatesRules(), "unresolved rule"),
    (ForgetsSparse(), "sparse"),
    (MixesTermsInSinglePrecision(), "Gram @ V in float32 = in float64"),
]


@pytest.mark.parametrize(("kernel", "law"), WRONG, ids=lambda value: type(value).__name__)
def test_the_law_that_a_wrong_kernel_breaks_is_named(kernel, law):
    with pytest.raises(AssertionError, match=law) as caught:
        check_kernel_implementation(kernel, X)
    assert type(kernel).__name__ in str(caught.value)
    assert str(caught.value).endswith(".")


class WrongExpansion(mc.Expansion):
    def __init__(self, psi, **methods):
        self.__dict__ |= psi.__dict__
        self.methods = methods

    def __call__(self, X):
        return self.methods.get("call", lambda psi, X: mc.Expansion.__call__(psi, X))(self, X)

    def norms(self):
        return self.methods.get("norms", mc.Expansion.norms)(self)

    def gradient(self, X):
        return self.methods.get("gradient", mc.Expansion.gradient)(self, X)

    def __add__(self, other):
        return self.methods.get("add", mc.Expansion.__add__)(self, other)

    def __getitem__(self, index):
        return self.methods.get("getitem", mc.Expansion.__getitem__)(self, index)


@pytest.mark.parametrize(
    ("methods", "law"),
    [
        ({"call": lambda psi, Y: 1.1 * mc.Expansion.__call__(psi, Y)}, r"psi\(x\)"),
        ({"norms": lambda psi: 0.5 * mc.Expansion.norms(psi)}, r"\|psi\|\^2"),
        ({"gradient": lambda psi, Y: -mc.Expansion.gradient(psi, Y)}, "gradient"),
        ({"add": lambda psi, chi: mc.Expansion.__sub__(psi, chi)}, r"\(psi \+ psi\)"),
        (
            {"getitem": lambda psi, _: mc.Expansion.__getitem__(psi, (slice(None), 0))},
            r"psi\[:, -1\]",
        ),
    ],
    ids=["call", "norms", "gradient", "add", "getitem"],
)
def test_the_law_that_a_wrong_expansion_breaks_is_named(methods, law, monkeypatch):
    psi = mc.features(mc.Gaussian(1.0), X) @ np.cos(np.arange(24.0)).reshape(12, 2)
    check_expansion_laws(psi)
    if "gradient" in methods:
        # the check evaluates the gradient of a copy in float64
        monkeypatch.setattr(
            "mercer.testing.Expansion", lambda *args: WrongExpansion(mc.Expansion(*args), **methods)
        )
    with pytest.raises(AssertionError, match=law):
        check_expansion_laws(WrongExpansion(psi, **methods))


def test_a_copy_of_a_kernel_with_another_number_is_another_kernel():
    for kernel in ROWS.values():
        for name, number in kernel.get_params(deep=False).items():
            if isinstance(number, float) and not isinstance(kernel, mc.Matern):
                assert replace(kernel, **{name: number + 0.5}) != kernel


def test_errors_are_relative_to_the_values_of_the_kernel():
    check_kernel_implementation(1e-12 * Wrong(), X)
    with pytest.raises(AssertionError, match=r"diag\(X\)"):
        check_kernel_implementation(1e-12 * WrongDiagonal(), X)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_errors_of_expansions_are_relative_to_their_terms(factor):
    psi = mc.Expansion(factor * mc.Linear(), X, factor * np.cos(np.arange(24.0)).reshape(12, 2))
    check_expansion_laws(psi)
    with pytest.raises(AssertionError, match=r"psi\(x\)"):
        check_expansion_laws(
            WrongExpansion(psi, call=lambda psi, Y: 1.001 * mc.Expansion.__call__(psi, Y))
        )


def test_vectors_are_evaluated_at_the_first_six_points_by_default():
    psi = mc.features(mc.Gaussian(1.0), X) @ np.cos(np.arange(24.0)).reshape(12, 2)
    seen = []

    def call(psi, Y):
        seen.append(len(Y))
        return mc.Expansion.__call__(psi, Y)

    check_expansion_laws(WrongExpansion(psi, call=call))
    assert seen[0] == 6
    check_expansion_laws(WrongExpansion(psi, call=call), X[:3])
    assert seen[-1] == 3
    check_expansion_laws(mc.features(mc.Gaussian(1.0), X[:2]))


WORDS = ["aab", "aba", "baa", "aaa", "aaba", "abaa", "bbb", "bba", "babb", "bab", "abbb", "bbbb"]
HALVES = np.repeat([0, 1], 6)
COUNTS = mc.strings.Spectrum(1)


@pytest.mark.parametrize(
    "estimator",
    [
        mc.SVC(kernel=mc.strings.Subsequence(2, 0.5)),
        mc.SVC(
            kernel=mc.FunctionKernel(
                lambda X, Z: np.array([[float(x[0] == z[0]) for z in Z] for x in X])
            )
        ),
        mc.KernelRidge(kernel=mc.strings.Mismatch(2, 1)),
        mc.NuSVC(nu=0.5, kernel=COUNTS),
        mc.SVR(kernel=mc.strings.BlendedSpectrum(2)),
        mc.NuSVR(kernel=COUNTS),
        mc.SVCCV(COUNTS, Cs=[1.0, 10.0], cv=3),
        mc.SVRCV(COUNTS, Cs=[1.0], cv=3),
        mc.KernelFisher(kernel=COUNTS),
        mc.KernelPerceptron(kernel=COUNTS),
        mc.Kernelized(LogisticRegression(), kernel=COUNTS),
    ],
    ids=lambda estimator: f"{type(estimator).__name__} {type(estimator.kernel).__name__}",
)
def test_estimators_on_strings_pass(estimator):
    check_structured_estimator(estimator, WORDS, HALVES)


@pytest.mark.parametrize(
    "estimator",
    [
        mc.KernelPCA(2, kernel=mc.Normalized(COUNTS)),
        mc.KernelMap(kernel=COUNTS),
        mc.Nystroem(n_components=2, kernel=mc.strings.Words(analyzer="char"), random_state=1),
        mc.OneClassSVM(kernel=COUNTS),
        mc.SVDD(kernel=COUNTS),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_without_targets_pass_on_strings(estimator):
    check_structured_estimator(estimator, WORDS)
    # a transformer without a score is not cross-validated
    if not hasattr(estimator, "score"):
        check_structured_estimator(estimator, WORDS, HALVES)


@pytest.mark.parametrize(
    "kernel",
    [
        mc.graphs.WeisfeilerLehman(1),
        mc.graphs.ShortestPath(),
        mc.graphs.RandomWalk(0.1),
        mc.graphs.Graphlets(3) + 1.0,
    ],
    ids=repr,
)
def test_estimators_on_graphs_pass(kernel):
    graphs = [
        mc.graphs.Graph(np.eye(len(word), k=1) + np.eye(len(word), k=-1), list(word))
        for word in WORDS
    ]
    check_structured_estimator(mc.SVC(kernel=kernel), graphs, HALVES)


@pytest.mark.parametrize(
    ("kernel", "point"),
    [
        (mc.strings.Spectrum(1), str.encode),
        (mc.strings.WeightedDegree(2), lambda word: (word + "cc")[:4]),
        (mc.sets.Overlap(), set),
        (mc.sets.Tanimoto(), lambda word: {*word, len(word)}),
        (mc.sets.MinMax(), lambda word: {letter: word.count(letter) for letter in word}),
        (
            mc.sets.MeanMap(mc.Gaussian(1.0)),
            lambda word: np.array([[float(letter == "a"), 1.0] for letter in word]),
        ),
        (mc.sequences.GlobalAlignment(1.0), lambda word: [float(letter == "a") for letter in word]),
    ],
    ids=["bytes", "aligned", "overlap", "sets", "multisets", "bags", "series"],
)
def test_estimators_on_other_objects_pass(kernel, point):
    check_structured_estimator(mc.SVC(kernel=kernel), [point(word) for word in WORDS], HALVES)


def test_an_estimator_whose_results_depend_on_the_other_points_is_named(monkeypatch):
    predict = mc.KernelRidge.predict
    monkeypatch.setattr(
        mc.KernelRidge, "predict", lambda self, X: predict(self, X) - predict(self, X).mean()
    )
    with pytest.raises(
        AssertionError, match="results of points alone does not hold for KernelRidge"
    ):
        check_structured_estimator(mc.KernelRidge(kernel=mc.strings.Spectrum(1)), WORDS, HALVES)


def _doubled(Y):
    return 2.0 * Y


def test_kernels_with_functions_of_rows_pass_on_default_points():
    check_kernel_implementation(mc.Mapped(mc.Gaussian(1.0), _doubled) + mc.Linear())


def test_a_name_is_refused_as_kernel():
    with pytest.raises(TypeError, match="kernel must be a Kernel, such as .* got 'rbf'"):
        check_kernel_implementation("rbf")
