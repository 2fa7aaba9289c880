import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.model_selection import GridSearchCV

import mercer as mc
from mercer.plot import ParameterGridDisplay

RESULTS = ("param_C", "param_gamma", "mean_test_score")


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(60, 2))
    return X, X[:, 0] * X[:, 1] > 0


def test_cells_hold_the_mean_scores_and_the_star_is_the_best_pair(data):
    search = mc.SVCCV(Cs=[10.0, 0.1, 1.0], gammas=[0.1, 1.0]).fit(*data)
    display = ParameterGridDisplay.from_estimator(search, ax=Figure().subplots())
    assert (display.x.tolist(), display.y.tolist()) == ([0.1, 1.0, 10.0], [0.1, 1.0])
    for C, gamma, score in zip(*(search.cv_results_[name] for name in RESULTS), strict=True):
        cell = list(display.y).index(gamma), list(display.x).index(C)
        assert display.cells_.get_array()[cell] == score
    star = [values[0] for values in display.best_.get_data()]
    assert star == [search.best_params_["C"], search.best_params_["gamma"]]


def test_a_search_of_scikit_learn_has_c_on_the_first_axis(data):
    search = GridSearchCV(
        mc.SVC(kernel=mc.Gaussian(1.0)), {"kernel__gamma": [0.1, 1.0], "C": [1.0, 10.0]}
    ).fit(*data)
    display = ParameterGridDisplay.from_estimator(search, ax=Figure().subplots())
    assert display.names == ("C", "kernel__gamma")
    best = list(display.y).index(display.best[1]), list(display.x).index(display.best[0])
    assert display.scores[best] == search.best_score_


def test_cells_are_centred_on_their_values():
    display = ParameterGridDisplay([1.0, 100.0], [2.0], [[0.1, 0.2]]).plot(Figure().subplots())
    corners = display.cells_.get_coordinates()
    np.testing.assert_allclose(np.sqrt(corners[0, :-1, 0] * corners[0, 1:, 0]), [1.0, 100.0])
    np.testing.assert_allclose(np.sqrt(corners[0, 0, 1] * corners[1, 0, 1]), 2.0)


def test_a_search_over_one_parameter_is_refused(data):
    search = mc.SVCCV(mc.Gaussian(1.0), Cs=[0.1, 1.0]).fit(*data)
    with pytest.raises(
        ValueError, match=r"names = None must be two of the parameters of the search, \['C'\]"
    ):
        ParameterGridDisplay.from_estimator(search)


def test_a_search_over_three_parameters_is_refused(data):
    grid = {"C": [1.0, 10.0], "kernel__gamma": [0.1], "tol": [1e-2, 1e-3]}
    search = GridSearchCV(mc.SVC(kernel=mc.Gaussian(1.0)), grid).fit(*data)
    with pytest.raises(ValueError, match="several candidates"):
        ParameterGridDisplay.from_estimator(search, names=("C", "kernel__gamma"))


@pytest.mark.parametrize(
    ("kernel", "name", "values", "found"),
    [
        (mc.Gaussian(1.0), "gamma", ["scale", 0.1], "'scale'"),
        (mc.Polynomial(2), "coef0", [0.0, 1.0], "0.0"),
    ],
)
def test_values_without_a_place_on_a_logarithmic_axis_are_refused(
    data, kernel, name, values, found
):
    grid = {"C": [1.0, 10.0], f"kernel__{name}": values}
    search = GridSearchCV(mc.SVC(kernel=kernel), grid, cv=2).fit(*data)
    with pytest.raises(
        ValueError, match=rf"the search has kernel__{name} = .*{found}.* the axes are logarithmic"
    ):
        ParameterGridDisplay.from_estimator(search)
