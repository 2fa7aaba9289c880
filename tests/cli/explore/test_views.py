import numpy as np
import pytest
from sklearn.datasets import load_iris

import mercer as mc
from mercer.cli.explore import tables
from mercer.cli.explore.views import VIEWS
from mercer.cli.pictures import inline

# compressions take seconds
CASES = [
    pytest.param(name, table, id=f"{name}-{table}", marks=[pytest.mark.slow] * (name == "vectors"))
    for name in VIEWS
    for table in ("moons", "iris")
]
CASES += [pytest.param(name, "digits", id=f"{name}-digits") for name in ("boundary", "components")]
PLANES = {"moons": "0,1", "iris": "1,3", "digits": tables.PRINCIPAL}


@pytest.mark.parametrize(("name", "table"), CASES)
def test_the_code_of_a_view_gives_its_numbers_and_its_model(
    name, table, choose, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    view, chosen = VIEWS[name], choose(name, table, PLANES[table], operation="sum")
    table = tables.built_in(table)
    result, warned = view.run(table, chosen)
    assert warned == []
    names = {}
    exec(view.code(table, chosen), names)
    assert names["result"].keys() == result.keys()
    for key in result.keys() - {"model"}:
        assert np.array_equal(names["result"][key], result[key], equal_nan=True), key
    pictures = inline(view.draw(result, view.points(table, chosen), table), (3.0, 2.0))
    assert all(each.startswith("data:image/png;base64,iVBOR") for each in pictures)
    assert all(isinstance(fact, str) for fact in view.facts(result))
    assert (tmp_path / "model.mercer").exists() == view.downloads
    if view.downloads:
        loaded, model = mc.load("model.mercer"), view.model(table, chosen, result)
        method = "predict" if hasattr(model, "predict") else "transform"
        rows = table.X if table.scaler is None else table.scaler.inverse_transform(table.X)
        found = getattr(loaded, method)(rows)
        assert np.array_equal(found, getattr(model, method)(rows))
        # what the page draws
        drawn = getattr(result["model"], method)(view.points(table, chosen))
        assert np.allclose(abs(found), abs(drawn), atol=1e-6)


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
    assert np.allclose(
        view.model(table, chosen, result).transform(X), result["model"].transform(scaled)
    )
