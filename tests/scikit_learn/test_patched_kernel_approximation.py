"""scikit-learn's tests of this name, run on the classes of mercer.sklearn."""

import pytest
from tests.scikit_learn import peer_tests

pytestmark = pytest.mark.slow
globals().update(peer_tests.load("sklearn.tests.test_kernel_approximation", peer_tests.PATCHED))
