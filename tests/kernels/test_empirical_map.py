"""EmpiricalMap: values, gradients and definiteness against the formula written out."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.testing import check_kernel_implementation

RNG = np.random.default_rng(0)
P, X, Z = RNG.normal(size=(6, 3)), RNG.normal(size=(9, 3)), RNG.normal(size=(5, 3))
F = RNG.normal(size=(6, 2))


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.3), mc.Sigmoid(1.0, -1.0), mc.Polynomial(2)], ids=repr
)
def test_values_are_inner_products_of_kernel_values_times_f(kernel):
    found = mc.EmpiricalMap(kernel, P, F)
    np.testing.assert_allclose(found(X, Z), kernel(X, P) @ F @ F.T @ kernel(P, Z), rtol=1e-12)
    np.testing.assert_allclose(found.diag(X), np.diag(found(X)), rtol=1e-12)
    assert np.linalg.eigvalsh(found(X)).min() > -1e-9
    check_kernel_implementation(found, X)
    assert mc.check_kernel(found).positive_semidefinite


def test_float32_points_give_float32_values_near_those_of_float64():
    found = mc.EmpiricalMap(mc.Gaussian(0.3), P, F)
    values = found(X.astype(np.float32), Z.astype(np.float32))
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, found(X, Z), rtol=1e-4, atol=1e-5)


def test_objects_are_points_too():
    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    kernel, words = mc.FunctionKernel(shared), ["ab", "bc", "abc"]
    found = mc.EmpiricalMap(kernel, words, np.eye(3))
    np.testing.assert_allclose(
        found(["a", "b"]), shared(["a", "b"], words) @ shared(words, ["a", "b"])
    )


def test_model_files_hold_it(tmp_path):
    model = mc.SVC(kernel=mc.EmpiricalMap(mc.Sigmoid(1.0, -1.0), P, F)).fit(X, X[:, 0] > 0)
    mc.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mc.load(tmp_path / "model.mercer").predict(Z), model.predict(Z))


@pytest.mark.parametrize(
    "bad", [F[:5], F[:, 0], F * np.inf, F[:, :0], F * 1j, {"a": F}], ids=range(6)
)
def test_an_f_that_does_not_fit_is_refused(bad):
    with pytest.raises((ValueError, TypeError), match=r"\bF (must|contains)"):
        mc.EmpiricalMap(mc.Gaussian(1.0), P, bad)


def test_values_are_the_same_for_lists_tables_and_sparse_points():
    expected = mc.EmpiricalMap(mc.Gaussian(0.3), P, F)(X, Z)
    for points, factors in (
        (P.tolist(), F.tolist()),
        (pd.DataFrame(P), pd.DataFrame(F)),
        (sp.csr_array(P), F),
    ):
        found = mc.EmpiricalMap(mc.Gaussian(0.3), points, factors)
        np.testing.assert_allclose(found(X, Z), expected, rtol=1e-12)
        assert hash(found) == hash(mc.EmpiricalMap(mc.Gaussian(0.3), points, factors))


def test_values_that_overflow_are_refused():
    kernel = mc.EmpiricalMap(mc.Gaussian(0.3), P, 1e200 * F)
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match=r"EmpiricalMap\(.*F=.* overflows float64"):
            call(X)
