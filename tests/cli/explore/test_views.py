import numpy as np
import pytest
from sklearn.datasets import load_iris

import mercer as mc
from mercer.cli.explore import tables
from mercer.cli.explore.views import VIEWS

# compressions take seconds
CASES = [
    pytest.param(name, table, id=f"{name}-{table}", marks=[pytest.mark.slow] * (name == "vectors"))
    for name in VIEWS
    for table in ("moons", "iris")
]


@pytest.mark.parametrize(("name", "table"), CASES)
def test_the_code_of_a_view_gives_its_numbers_and_its_model(name, table, choose, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    view, chosen = VIEWS[name], choose(name, table, "1,3" if table == "iris" else "0,1", operation="sum")
    table = tables.built_in(table)
    result, warned = view.run(table, chosen)
    assert warned == []
    names = {}
    exec(view.code(table, chosen), names)
    assert names["result"].keys() == result.keys()
    for key in result.keys() - {"model"}:
        assert np.array_equal(names["result"][key], result[key], equal_nan=True), key
    assert view.draw(result, table, view.points(table, chosen))["data"]
    assert all(isinstance(fact, str) for fact in view.facts(result))
    assert (tmp_path / "model.mercer").exists() == view.downloads
    if view.downloads:
        loaded, model = mc.load("model.mercer"), view.model(table, result)
        method = "predict" if hasattr(model, "predict") else "transform"
        points = view.points(table, chosen)
        assert np.array_equal(getattr(loaded, method)(points), getattr(model, method)(points))


@pytest.mark.parametrize(
    ("kernel", "fact"), [("Gaussian", "curvature 0 everywhere"), ("Polynomial", "curvature from -")]
)
def test_a_flat_surface_is_called_flat(kernel, fact, choose):
    view, table = VIEWS["geometry"], tables.built_in("moons")
    result, _ = view.run(table, choose("geometry", first=(kernel, 0.0, 2)))
    assert fact in view.facts(result)[0]


def test_the_model_of_a_standardised_table_takes_its_rows_as_they_were(choose):
    X, y = load_iris(return_X_y=True)
    view, table, chosen = VIEWS["denoising"], tables.built_in("iris"), choose("denoising", "iris")
    result, _ = view.run(table, chosen)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert np.allclose(view.model(table, result).transform(X), result["model"].transform(scaled))
