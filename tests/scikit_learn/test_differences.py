"""The list of differences names tests that exist, each once."""

from collections import Counter

from tests.scikit_learn import (
    test_kernel_approximation,
    test_kernel_pca,
    test_kernel_ridge,
    test_patched_kernel_pca,
    test_patched_svm,
    test_sparse,
    test_svm,
)
from tests.scikit_learn.differences import DIFFERENCES

_FILES = (
    *(test_kernel_approximation, test_kernel_pca, test_kernel_ridge, test_sparse, test_svm),
    *(test_patched_kernel_pca, test_patched_svm),
)


def test_every_listed_test_exists_and_is_listed_once():
    existing = {
        f"{module.__name__.rsplit('.')[-1]}.py::{name}"
        for module in _FILES
        for name in vars(module)
    }
    listed = [test for each in DIFFERENCES for test in each.tests]
    assert {test.partition("[")[0] for test in listed} <= existing
    assert max(Counter(listed).values()) == 1
    assert all(each.reason.endswith(".") for each in DIFFERENCES)
