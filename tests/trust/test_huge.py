"""Kernels of finite but huge values: nothing fitted or predicted is NaN, and exports refuse what overflows."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import mercer as mc

pytestmark = pytest.mark.filterwarnings("ignore")
MODELS = [
    mc.SVC(),
    mc.NuSVC(0.3),
    mc.SVR(),
    mc.NuSVR(),
    mc.OneClassSVM(0.3),
    mc.SVDD(),
    mc.KernelRidge(),
    mc.KernelFisher(),
    mc.KernelPCA(2),
    mc.KernelMap(),
    mc.Nystroem(n_components=5),
    mc.KernelPerceptron(),
    mc.SVCCV(Cs=3, cv=3),
    mc.SVRCV(Cs=3, cv=3),
]


def numbers_of(model):
    found = [
        each
        for name, each in vars(model).items()
        if name.endswith("_") and isinstance(each, (float, np.ndarray))
    ]
    certificate = getattr(model, "certificate_", None)
    if certificate is not None:
        found += [certificate.primal, certificate.dual, certificate.kkt]
    return [np.asarray(each) for each in found]


@pytest.mark.parametrize("degree", [30, 70, 100, 180])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_no_fitted_attribute_is_nan_without_an_error(model, degree, global_random_seed):
    X = np.random.default_rng((global_random_seed, degree)).normal(size=(40, 3))
    y = X[:, 0] > 0 if is_classifier(model) else X[:, 1]
    model = clone(model).set_params(kernel=mc.Polynomial(degree))
    try:
        model.fit(X, y)
    except ValueError as error:
        # the norm of the matrix overflows, which the message says
        text = str(error)
    else:
        text = ""
        assert not any(np.isnan(each).any() for each in numbers_of(model) if each.dtype.kind == "f")
        method = next(
            name for name in ("decision_function", "predict", "transform") if hasattr(model, name)
        )
        assert not np.isnan(getattr(model, method)(X)).any()
    assert not text or "overflow" in text


@pytest.mark.parametrize("model", [mc.SVCCV(Cs=3, cv=3), mc.SVRCV(Cs=3, cv=3), mc.NuSVR()])
def test_arithmetic_of_huge_values_does_not_overflow(model):
    X = np.random.default_rng(1).normal(size=(30, 3))
    model = clone(model).set_params(kernel=mc.Polynomial(200))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model.fit(X, X[:, 0] > 0 if is_classifier(model) else X[:, 1])


def test_a_fit_that_ends_in_nan_is_refused_and_leaves_the_model_as_it_was():
    class Overflowing(mc.KernelRidge):
        def _store(self, found, *args):
            super()._store(found, *args)
            self.residual_ = float("nan") if self.alpha == 2.0 else 0.0

    X = np.random.default_rng(0).normal(size=(20, 2))
    model = Overflowing(1.0).fit(X, X[:, 0])
    before = model.dual_coef_
    with pytest.raises(ValueError, match="residual_ of Overflowing would be NaN: .*scale X"):
        model.set_params(alpha=2.0).fit(X, X[:, 0])
    assert model.dual_coef_ is before


@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0, 3e4])
@pytest.mark.parametrize("export", ["c", "onnx"])
@pytest.mark.parametrize("kernel", [mc.Polynomial(8), mc.Polynomial(3, 10.0) + mc.Linear()])
def test_an_export_gives_numbers_or_is_refused(scale, export, kernel, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3)) * scale
    model = mc.SVR(kernel=kernel).fit(X, X[:, 1] / scale)
    overflows = np.abs(kernel.diag(model.support_vectors_)).max() > np.finfo(np.float32).max

    def exported():
        return (
            mc.formats.to_c(model, tmp_path / "m.c", dtype="float32")
            if export == "c"
            else mc.formats.to_onnx(model)
        )

    if overflows:
        with pytest.raises(
            ValueError, match=r"kernel values .* outside the range of float32; .*float64"
        ):
            exported()
    else:
        exported()


@pytest.mark.parametrize("export", ["c", "onnx"])
def test_an_export_at_the_edge_of_float32_gives_numbers_or_is_refused(
    export, tmp_path, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(30, 3))
    kernel = mc.Polynomial(8)
    most = float(np.finfo(np.float32).max)
    # the largest value is at most ten times below or above
    X *= np.sqrt((most * 10 ** rng.uniform(-1, 1)) ** (1 / 8) / np.sum(X * X, axis=1).max())
    model = mc.SVR(kernel=kernel).fit(X, rng.normal(size=30))
    refusal = ""
    try:
        mc.formats.to_c(
            model, tmp_path / "m.c", dtype="float32"
        ) if export == "c" else mc.formats.to_onnx(model)
    except ValueError as error:
        refusal = str(error)
    largest = np.abs(kernel(model.support_vectors_)).max()
    assert bool(refusal) == bool(largest > most), (refusal, largest)
