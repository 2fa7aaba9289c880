"""Requests of metadata in model files, against scikit-learn's routing."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer.formats.codec import requests_of, set_requests

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = X[:, 0] + 0.8 * rng.normal(size=60) > 0
WEIGHT = rng.uniform(0, 3, 60)


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize(
    "make", [mc.SVC, mc.SVR, mc.OneClassSVM, mc.KernelRidge, mc.KernelFisher, mc.SVCCV]
)
def test_requests_survive_a_file(make, tmp_path):
    model = make().set_fit_request(sample_weight=True).fit(X, Y)
    mc.save(model, tmp_path / "model")
    assert requests_of(mc.load(tmp_path / "model")) == {"fit": {"sample_weight": True}}


def test_a_loaded_pipeline_routes_weights_as_the_saved_one(tmp_path):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    model = make_pipeline(
        scaler,
        mc.SVC().set_fit_request(sample_weight="costs").set_score_request(sample_weight=True),
    )
    model.fit(X, Y, costs=WEIGHT)
    mc.save(model, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    assert [requests_of(step) for step in loaded] == [requests_of(step) for step in model]
    values = model.decision_function(X)
    np.testing.assert_array_equal(loaded.decision_function(X), values)
    np.testing.assert_array_equal(loaded.fit(X, Y, costs=WEIGHT).decision_function(X), values)
    search = GridSearchCV(loaded, {"svc__C": [0.1, 1.0]}, cv=3).fit(
        X, Y, costs=WEIGHT, sample_weight=WEIGHT
    )
    again = GridSearchCV(model, {"svc__C": [0.1, 1.0]}, cv=3).fit(
        X, Y, costs=WEIGHT, sample_weight=WEIGHT
    )
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"]
    )


def test_requests_are_read_where_routing_is_off(tmp_path):
    model = mc.SVC().set_fit_request(sample_weight=False).fit(X, Y)
    with sklearn.config_context(enable_metadata_routing=False):
        mc.save(model, tmp_path / "model")
        loaded = mc.load(tmp_path / "model")
    assert requests_of(loaded) == {"fit": {"sample_weight": False}}


def test_a_request_that_was_reset_is_not_stored(tmp_path):
    model = (
        mc.SVC().set_fit_request(sample_weight=True).set_fit_request(sample_weight=None).fit(X, Y)
    )
    mc.save(model, tmp_path / "model")
    assert requests_of(mc.load(tmp_path / "model")) == {}


@pytest.mark.parametrize(
    "requests",
    [
        3,
        {"fit": 1},
        {"fit": {"other": True}},
        {"fit": {"sample_weight": 2.5}},
        {"params": {"C": 2.0}},
        {"fit": {1: 2}},
    ],
    ids=str,
)
def test_requests_that_an_estimator_cannot_have_are_refused(requests):
    with pytest.raises(ValueError, match="SVC cannot have the metadata requests"):
        set_requests(mc.SVC(), requests)
