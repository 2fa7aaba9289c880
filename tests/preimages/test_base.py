"""Every pre-image method follows the protocol, and `preimage` accepts methods of users."""

import dataclasses
import html

import numpy as np
import pytest

import mercer as mc
from mercer.preimages import (
    Distances,
    Exact,
    FixedPoint,
    Found,
    Gradient,
    Learned,
    Method,
    PreImage,
    preimage,
)
from mercer.preimages.base import choose_method

RECORDS = [FixedPoint(), Gradient(), Distances(), Exact(), Learned()]


@pytest.mark.parametrize("method", RECORDS, ids=lambda m: type(m).__name__)
def test_a_method_is_a_frozen_dataclass_with_require_and_find(method):
    assert isinstance(method, Method)
    assert method == type(method)()
    assert hash(method) == hash(type(method)())
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.tol = 1.0


@pytest.mark.parametrize("method", RECORDS, ids=lambda m: type(m).__name__)
def test_found_has_one_entry_per_vector_and_a_reason_for_each_failure(method):
    X = np.random.default_rng(0).normal(size=(20, 3))
    psi = mc.features(mc.Gaussian(0.5), X) @ np.random.default_rng(1).normal(size=(20, 4))
    found = method.find(psi, X[:4])
    assert found.points.shape == (4, 3)
    assert found.points.dtype == np.float64
    assert np.isfinite(found.points).all()
    assert found.converged.shape == found.n_iter.shape == (4,)
    assert [reason == "" for reason in found.reasons] == found.converged.tolist()


def test_preimage_accepts_a_method_of_the_user():
    @dataclasses.dataclass(frozen=True)
    class Stay:
        def require(self, kernel):
            pass

        def find(self, psi, start):
            return Found(
                start, np.ones(len(start), bool), np.zeros(len(start), int), ("",) * len(start)
            )

    phi = mc.features(mc.Gaussian(1.0), np.array([[0.0], [2.0]]))
    answer = preimage(phi, Stay())
    assert isinstance(answer, PreImage)
    assert answer.method == Stay()
    np.testing.assert_array_equal(answer.points, phi.points)
    np.testing.assert_allclose(answer.sqdist, 0, atol=1e-15)


def test_a_notebook_shows_the_method_the_distances_and_how_many_converged():
    coef = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    psi = mc.features(mc.Gaussian(1.0), np.array([[0.0], [2.0], [5.0]])) @ coef
    found = preimage(psi, FixedPoint(max_iter=1), start=np.array([[0.0], [3.0]]))
    assert found.converged.tolist() == [True, False]
    page = html.unescape(found._repr_html_())
    for text in (str(found.method), f"{found.sqdist.max():.4g} at most", "1 of 2", found.reason):
        assert text in page


def test_a_method_is_chosen_by_name_or_given_as_a_record():
    names = {"fixed_point": FixedPoint, "exact": Exact}
    assert choose_method("exact", names, Method, "Exact()") == Exact()
    assert choose_method(FixedPoint(pull=1.0), names, Method, "Exact()") == FixedPoint(pull=1.0)
    with pytest.raises(
        ValueError, match=r"method = 'mds' must be one of \['fixed_point', 'exact'\].*Exact\(\)"
    ):
        choose_method("mds", names, Method, "Exact()")
    for wrong in (FixedPoint, 3, None):
        with pytest.raises(TypeError, match="must be a string or a record such as Exact"):
            choose_method(wrong, names, Method, "Exact()")
