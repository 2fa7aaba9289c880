"""scikit-learn's tests of this name, run on Mercer's classes."""

from tests.scikit_learn import peer_tests

globals().update(peer_tests.load("sklearn.svm.tests.test_svm"))
