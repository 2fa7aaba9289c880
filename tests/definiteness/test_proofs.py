"""Every kernel of the library has a verdict, it is the right one, and proofs go through the rules of closure."""

import inspect

import numpy as np
import pytest
from tests import public
from tests.reference.structured import STRUCTURED

import mercer as mc
from mercer.definiteness import Statement
from mercer.definiteness.proofs import Proof, prove, register
from mercer.kernels.base import Kernel

BASES = {"Kernel", "Radial", "Dot", "Coordinatewise"}
CLASSES = [
    cls
    for name in public.NAMES
    if inspect.isclass(cls := getattr(mc, name)) and issubclass(cls, Kernel) and name not in BASES
]
MATRIX = np.array([[2.0, 1.0], [1.0, 2.0]])
PROVED = [
    mc.Linear(),
    mc.Polynomial(3, 0.5, 1.0),
    mc.Polynomial(2, 1.0, 0.0),
    mc.Gaussian(0.5),
    mc.Laplacian(0.5),
    mc.Periodic(2.0),
    mc.Local(mc.Polynomial(2, 0.5, 1.0), (1, 3), 1),
    mc.Anova(mc.Gaussian(0.5), 2),
    mc.Matern(1.0, 0.5),
    mc.Matern(1.0, 2.5),
    mc.RationalQuadratic(1.0, 0.3),
    mc.Cauchy(2.0),
    mc.Chi2(1.0),
    mc.Intersection(),
    mc.kernels.Bhattacharyya(),
    mc.kernels.BSpline(2),
    mc.VariableWidthGaussian(0.5, 3),
    mc.DirectSum(mc.Gaussian(0.5), mc.Laplacian(1.0), n_features=3),
    mc.Constant(2.0),
    mc.Exp(mc.Linear()),
    mc.Normalized(mc.Polynomial(2)),
    mc.Rescaled(mc.Gaussian(1.0), lambda X: X[:, 0]),
    mc.Mapped(mc.Gaussian(1.0), np.array([1.0, 2.0, 0.5])),
    mc.on_columns(mc.Gaussian(1.0), [0, 1]),
    mc.OnFeatures(mc.Gaussian(1.0), mc.Polynomial(2)),
    mc.EmpiricalMap(mc.Sigmoid(1.0, -1.0), np.eye(3), np.eye(3)),
    mc.FeatureMap(np.sin),
    mc.Gaussian(1.0) + mc.Linear(),
    mc.Gaussian(1.0) * mc.Linear(),
    3 * mc.Cauchy(1.0),
    mc.Linear() ** 3,
]
REFUTED = [
    mc.Sigmoid(1.0, 0.0),
    mc.Sigmoid(0.1, 1.0),
    mc.Sigmoid(1.0, -1.0),
    mc.Polynomial(3, 1.0, -0.5),
    mc.Polynomial(1, 1.0, -2.0),
    2 * mc.Sigmoid(1.0),
    mc.AdditiveChi2(),
    mc.kernels.PowerDistance(0.5),
    mc.kernels.Multiquadric(0.5),
    mc.kernels.ThinPlate(),
]
OPEN = [
    mc.FunctionKernel(np.dot),
    mc.Precomputed(MATRIX),
    mc.Sigmoid(1.0) + mc.Linear(),
    mc.Gaussian(1.0) * mc.Polynomial(2, 1.0, -1.0),
    mc.Exp(mc.Sigmoid(1.0)),
]


def test_every_kernel_class_of_the_library_is_tested_here():
    seen = {type(kernel) for kernel in PROVED + REFUTED + OPEN}
    assert [cls.__name__ for cls in CLASSES if cls not in seen] == []


@pytest.mark.parametrize("kernel", PROVED, ids=lambda kernel: type(kernel).__name__)
def test_a_proved_kernel_has_no_negative_eigenvalue_beyond_rounding(kernel, global_random_seed):
    proof = prove(kernel)
    assert proof.holds is True
    assert all(statement.verdict == "proved" for statement in proof.statements)
    X = np.abs(np.random.default_rng(global_random_seed).normal(size=(40, 3)))
    values = np.linalg.eigvalsh(kernel(X))
    assert values[0] >= -1e-13 * values[-1]
    assert kernel.tags.positive_semidefinite is True


@pytest.mark.parametrize("name", STRUCTURED)
def test_kernels_on_objects_are_proved_and_have_no_negative_eigenvalue_beyond_rounding(name):
    kernel, points = STRUCTURED[name]
    proof = prove(kernel)
    assert proof.holds is True
    assert proof.where != "all rows"
    values = np.linalg.eigvalsh(kernel(points))
    assert values[0] >= -1e-13 * values[-1]
    assert kernel.tags.positive_semidefinite is True


@pytest.mark.parametrize("kernel", REFUTED, ids=lambda kernel: type(kernel).__name__)
def test_a_refuted_kernel_has_points_near_the_origin_that_refute_it(kernel):
    assert prove(kernel).holds is False
    # on small rows of several lengths the coefficient that is negative shows before its size is lost in rounding
    grids = [scale * np.linspace(-1, 1, 7)[:, None] for scale in (0.5, 1.0, 2.0)]
    # histograms have no negative entry
    shift = kernel.tags.nonnegative
    values = [np.linalg.eigvalsh(kernel(X - X.min() if shift else X)) for X in grids]
    assert min(found[0] / abs(found).max() for found in values) < -1e-9
    assert kernel.tags.positive_semidefinite is not True


@pytest.mark.parametrize("kernel", OPEN, ids=lambda kernel: type(kernel).__name__)
def test_a_kernel_without_a_proof_is_open(kernel):
    proof = prove(kernel)
    assert proof.holds is None
    assert proof.statements[0].verdict == "open"


def test_the_parts_of_a_proof_are_listed_below_it_with_their_own_verdicts():
    lines = prove(mc.Exp(mc.Sigmoid(1.0) + mc.Chi2(1.0))).statements
    assert [(line.depth, line.verdict) for line in lines] == [
        (0, "open"),
        (1, "open"),
        (2, "refuted"),
        (2, "proved"),
    ]
    assert lines[0].where == "all nonnegative rows"


def test_a_new_class_has_no_proof_until_it_registers_one():
    class Own(mc.Gaussian):
        pass

    class Other(mc.Kernel):
        pass

    class Negative(mc.Gaussian):
        @staticmethod
        def profile(xp, s, gamma, order=0):
            return -mc.Gaussian.profile(xp, s, gamma, order=order)

    class Below(Negative):
        pass

    assert prove(Own(1.0)).holds is True  # a Gaussian by inheritance
    assert prove(Negative(1.0)).holds is prove(Below(1.0)).holds is None  # another formula
    assert np.linalg.eigvalsh(Below(1.0)(np.eye(2)))[0] < 0
    assert prove(Other()).statements[0].reason == "no proof is registered for Other"


def test_a_registered_proof_is_that_of_the_class_and_of_composites():
    class Own(mc.Kernel):
        def evaluate(self, tile):
            return 0 * tile.products + 1

    @register
    def _(_: Own):
        return Proof(True, (Statement("proved", "all rows", "one constant feature"),))

    report = mc.check_kernel(2 * Own(), np.eye(3))
    assert report.positive_semidefinite is True
    assert report.smallest_eigenvalue == pytest.approx(0, abs=1e-12)
    assert "one constant feature" in str(report)
