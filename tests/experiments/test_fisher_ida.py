"""Kernel classifiers on Raetsch's data sets have errors near those of support vector machines."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import mercer as mc
from experiments import fisher_ida
from mercer.estimators.kernel_fisher import KernelFisher
from mercer.estimators.kernelized import Kernelized


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "gamma", "mu", "C"),
    [("ida_heart", 0.0104, 1.0, 1.0), ("ida_waveform", 0.0262, 1.0, 1.0)],
)
def test_errors_are_near_those_of_support_vector_machines(data, name, gamma, mu, C):
    sets = data(name)
    ours = fisher_ida.errors(sets, KernelFisher(kernel=mc.Gaussian(gamma), mu=mu), 10)
    theirs = fisher_ida.errors(sets, SVC(gamma=gamma, C=C), 10)
    assert abs(np.mean(ours - theirs)) < 1.5


@pytest.mark.data
def test_tuned_parameters_are_medians_over_the_splits(data, settings):
    settings(fisher_ida, ROWS=60)
    model, medians = fisher_ida.tuned(data("ida_heart"), fisher_ida.fisher, 2)
    assert model.kernel.gamma == medians["kernel__gamma"]
    assert model.mu == medians["mu"]


@pytest.mark.data
def test_logistic_regression_in_feature_space_has_an_error_near_that_of_support_vector_machines(
    data,
):
    sets = data("ida_heart")
    ours = fisher_ida.errors(sets, Kernelized(LogisticRegression(), mc.Gaussian(0.0103)), 10)
    theirs = fisher_ida.errors(sets, SVC(gamma=0.0103, C=1.0), 10)
    assert abs(np.mean(ours - theirs)) < 3


@pytest.mark.data
def test_the_search_covers_kernel_and_classifier(data, settings):
    settings(fisher_ida, ROWS=40, FACTORS=[1.0, 4.0])
    model, medians = fisher_ida.tuned(data("ida_heart"), fisher_ida.logistic, 1)
    assert model.kernel.gamma == medians["kernel__gamma"]
    assert model.get_params()["estimator__C"] == medians["estimator__C"]
