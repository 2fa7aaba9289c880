"""The tests of scikit-learn that Mercer's classes fail, each with the reason and the error.

Mercer differs on purpose in all of them; a fault is mended, not listed. ``*`` in an identifier stands for any text.
"""

import re
from dataclasses import dataclass

import pytest

# The version whose tests these are.
VERSION = "1.9"

FAILED = pytest.fail.Exception


@dataclass(frozen=True)
class Difference:
    """A reason, the error that ends the tests, a part of its message, and the tests."""

    reason: str
    error: type
    message: str
    tests: tuple


DIFFERENCES = [
    # --- support vector machines -------------------------------------------------------------------------------------
    Difference(
        "Mercer refuses negative weights, which scikit-learn takes for 0.",
        ValueError,
        r"sample_weight\[1\] = -0.5 must be finite and at least 0",
        (
            "test_svm.py::test_negative_weights_svc_leave_two_labels[partial-mask-label-1-*]",
            "test_svm.py::test_negative_weight_equal_coeffs[partial-mask-label-1-*]",
        ),
    ),
    Difference(
        "Mercer refuses negative weights and weights that are all 0 too, but its message names the weight.",
        AssertionError,
        "sample_weight.*must",
        (
            "test_svm.py::test_negative_sample_weights_mask_all_samples[*]",
            "test_svm.py::test_negative_weights_svc_leave_just_one_label[*]",
        ),
    ),
    Difference(
        "Mercer refuses features that overflow too, but before the fit and with the remedy.",
        AssertionError,
        "must not be so large that the rule .* overflows; scale X",
        ("test_svm.py::test_svc_nonfinite_params[*]",),
    ),
    Difference(
        "Mercer refuses a sparse precomputed matrix by a TypeError too, but its message names the remedy.",
        AssertionError,
        "X must not be sparse for kernel = 'precomputed'; give X.toarray",
        ("test_svm.py::test_sparse_precomputed[*]",),
    ),
    Difference(
        "A callable that returns a matrix of the wrong shape is refused at fit, where scikit-learn refuses at predict.",
        ValueError,
        r"callable kernel <lambda> must return shape \(2, 2\)",
        ("test_svm.py::test_svr_errors",),
    ),
    Difference(
        "The kernel of this test fills a matrix on the assumption that both blocks are the same points; Mercer "
        "evaluates kernels on parts of the matrix.",
        Exception,
        "",
        ("test_svm.py::test_custom_kernel_not_array_input[*]",),
    ),
    Difference(
        "A model trained on dense rows predicts sparse rows, which scikit-learn refuses.",
        FAILED,
        "DID NOT RAISE",
        ("test_svm.py::test_bad_input[*]",),
    ),
    Difference(
        "Newton steps find the exact solution for the six points within max_iter, so there is nothing to warn of.",
        FAILED,
        "DID NOT WARN.*ConvergenceWarning",
        ("test_svm.py::test_libsvm_convergence_warnings[*]", "test_sparse.py::test_timeout[*]"),
    ),
    Difference(
        "Probabilities come from CalibratedClassifierCV, as scikit-learn recommends since it deprecated `probability`.",
        AttributeError,
        "no attribute '(predict_proba|probA_)'",
        (
            "test_svm.py::test_probability[*]",
            "test_sparse.py::test_unsorted_indices[*]",
            "test_sparse.py::test_sparse_svc_clone_with_callable_kernel[*]",
        ),
    ),
    Difference(
        "Mercer has no parameter `probability` that could be deprecated.",
        FAILED,
        "DID NOT WARN.*FutureWarning",
        (
            "test_svm.py::test_probability_raises_futurewarning[*]",
            "test_svm.py::test_svc_nusvc_probA_probB_deprecated[*]",
        ),
    ),
    Difference(
        "Mercer has no parameter `probability` that could make predict_proba available.",
        AssertionError,
        "predict_proba",
        ("test_svm.py::test_hasattr_predict_proba[*]",),
    ),
    Difference(
        "The test changes `_dual_coef_`, a private attribute of scikit-learn.",
        AssertionError,
        "",
        ("test_svm.py::test_tweak_params",),
    ),
    Difference(
        "The test damages `_n_support`, a private attribute of scikit-learn; Mercer has no such second copy.",
        AttributeError,
        "no attribute '_n_support'",
        ("test_svm.py::test_svc_raises_error_internal_representation",),
    ),
    Difference(
        "Mercer has no `coef_`; that of the adapter is computed at each access and may be written to.",
        FAILED,
        "DID NOT RAISE",
        ("test_svm.py::test_immutable_coef_property[*]",),
    ),
    # --- kernel PCA --------------------------------------------------------------------------------------------------
    Difference(
        "Pre-images for a precomputed kernel are refused when they are asked for; the matrix, which is not symmetric, "
        "is refused first.",
        AssertionError,
        "must be symmetric",
        ("test_kernel_pca.py::test_kernel_pca_invalid_parameters",),
    ),
    Difference(
        "Points without variance have no components, of which there must be one.",
        ValueError,
        "no variance: the 3 vectors are equal up to rounding",
        ("test_kernel_pca.py::test_remove_zero_eig",),
    ),
    Difference(
        "A matrix that is not symmetric is not a kernel; scikit-learn uses one triangle of it.",
        ValueError,
        "must be symmetric",
        ("test_kernel_pca.py::test_kernel_pca_precomputed_non_symmetric[*]",),
    ),
    Difference(
        "Components of eigenvalue 0 up to rounding are left out with a warning, not returned as columns of 0.",
        AssertionError,
        "",
        ("test_kernel_pca.py::test_kernel_conditioning",),
    ),
    Difference(
        "An indefinite matrix is cut to its positive part with a warning that gives the negative eigenvalue, for every "
        "number of components; scikit-learn raises where enough components are asked for.",
        FAILED,
        "DID NOT RAISE",
        ("test_kernel_pca.py::test_precomputed_kernel_not_psd[*]",),
    ),
    # --- the classes of mercer.sklearn --------------------------------------------------------------------------------
    Difference(
        "The test writes to a private array; predictions are those of Mercer's model, which has its own.",
        AssertionError,
        "",
        ("test_patched_svm.py::test_tweak_params",),
    ),
    Difference(
        "The test compares scores of two fits bit for bit; sums in another order differ by one rounding.",
        AssertionError,
        "0.72916",
        ("test_patched_svm.py::test_custom_kernel_not_array_input[SVR]",),
    ),
    Difference(
        "probability=False asks for what the fit does, which is not deprecated.",
        FAILED,
        "DID NOT WARN",
        ("test_patched_svm.py::test_probability_raises_futurewarning[False-*]",),
    ),
    Difference(
        "scikit-learn fits a matrix that is not symmetric, and Mercer its symmetric form, to the same up to rounding.",
        AssertionError,
        "Max absolute difference among violations: 1.1",
        ("test_patched_kernel_pca.py::test_kernel_pca_precomputed_non_symmetric[arpack]",),
    ),
    # --- Nystroem ----------------------------------------------------------------------------------------------------
    Difference(
        "The additive chi-squared kernel is indefinite: its matrix on two landmarks is cut to the one positive part.",
        AssertionError,
        r"assert \(10, 1\) == \(10, 2\)",
        ("test_kernel_approximation.py::test_nystroem_approximation",),
    ),
    Difference(
        "Expansions over rows of a given matrix are NumPy arrays, for matrices of all libraries.",
        AssertionError,
        "",
        (
            "test_kernel_approximation.py::test_nystroem_approximation_array_api[*-precomputed-array_api_strict-*]",
        ),
    ),
    Difference(
        "A power that is not a whole number is not positive semidefinite; Polynomial refuses it.",
        TypeError,
        "degree must be a whole number, got 3.1",
        ("test_kernel_approximation.py::test_nystroem_poly_kernel_params",),
    ),
    Difference(
        "The test counts calls of a function of two points; Mercer's callables take two blocks of points.",
        AssertionError,
        "",
        ("test_kernel_approximation.py::test_nystroem_callable",),
    ),
    Difference(
        "Kernels carry their parameters, so Nystroem has no gamma, coef0 or degree to refuse beside a matrix.",
        FAILED,
        "DID NOT RAISE",
        ("test_kernel_approximation.py::test_nystroem_precomputed_kernel",),
    ),
    Difference(
        "Nystroem stores its landmarks as points, which need not be training rows.",
        AttributeError,
        "component_indices_",
        ("test_kernel_approximation.py::test_nystroem_component_indices",),
    ),
]


def difference(test):
    """Return the difference that explains why a test, ``file::name[parameters]``, fails; None if it must pass."""
    return next(
        (each for each in DIFFERENCES if any(_matches(entry, test) for entry in each.tests)), None
    )


def _matches(entry, test):
    return re.fullmatch(".*".join(map(re.escape, entry.split("*"))), test) is not None
