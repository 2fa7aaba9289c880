import base64
import re

import pytest

import mercer as mc
from mercer.cli.explore import state, tables

pytest.importorskip("dash", reason='the page needs dash: pip install "mercer[explore]"')
from mercer.cli.explore import page

FORM = dict(
    zip(
        page._FORM,
        ["boundary", "moons", "0,1", "alone", "Gaussian", 0.0, 3, "Linear", 0.0, 3, 1.0, 8],
        strict=True,
    )
)
CSV = "1,2,a\n2,1,b\n" * 12


@pytest.fixture(scope="module")
def app():
    return page.build(state.Session())


@pytest.fixture(scope="module")
def client(app):
    return app.server.test_client()


def _call(app, client, output, inputs, states=(), trigger=None):
    """Return the response to a callback whose first output is given, as values by id and property."""
    name = next(key for key in app.callback_map if output in key)
    outputs = [
        dict(zip(("id", "property"), each.rsplit(".", 1), strict=True))
        for each in name.strip(".").split("...")
    ]
    fields = [{"id": i, "property": p, "value": v} for i, p, v in inputs]
    body = {"output": name, "outputs": outputs, "inputs": fields, "changedPropIds": [trigger or ""]}
    body["state"] = [{"id": i, "property": p, "value": v} for i, p, v in states]
    response = client.post("/_dash-update-component", json=body)
    assert response.status_code == 200
    return response.get_json()["response"]


def _show(app, client, **changes):
    inputs = [(name, "value", value) for name, value in (FORM | changes).items()]
    return _call(app, client, "figure.children", inputs)


def test_the_page_loads_nothing_from_elsewhere(client):
    text = client.get("/").get_data(as_text=True)
    assert re.search(r"(src|href)=\"(https?:)?//", text) is None
    for address in re.findall(r"(?:src|href)=\"([^\"]+)\"", text):
        with client.get(address) as response:
            assert response.status_code == 200


def test_the_layout_offers_every_control_of_the_form(client):
    layout = client.get("/_dash-layout").get_data(as_text=True)
    assert [name for name in page._FORM if f'"id":"{name}"' not in layout] == []
    assert all(name in layout for name in tables.BUILT_IN)


def test_gamma_changes_the_figure_and_the_code(app, client):
    first, second = _show(app, client), _show(app, client, **{"exponent-1": 1.0})
    assert "mc.Gaussian(gamma=1.0)" in first["code"]["children"]
    assert "mc.Gaussian(gamma=10.0)" in second["code"]["children"]
    assert all(
        first["figure"]["children"] != other for other in (second["figure"]["children"], None)
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"table": "x"},
        {"table": ["x"]},
        {"view": None},
        {"family-1": "os"},
        {"exponent-1": "nan"},
        {"plane": {}},
        {"size": None},
    ],
)
def test_a_wrong_value_gives_a_message(app, client, changes):
    shown = _show(app, client, **changes)
    assert shown["message"]["children"]
    assert "Traceback" not in str(shown)
    assert shown["figure"]["children"] is None
    assert shown["download"]["disabled"] is True


def test_a_good_upload_becomes_the_table(app, client, data_url):
    text = data_url(CSV.encode())
    found = _call(
        app,
        client,
        "table.options",
        [("upload-text", "data", text)],
        [("upload", "filename", "my.csv")],
    )
    # not in the colour of errors
    message = found["upload-message"]["children"]["props"]
    assert (message["children"], message["className"]) == ("my.csv is loaded.", "done")
    shown = _show(app, client, table=found["table"]["value"], plane="0,1")
    assert "from_csv('my.csv', header=0)" in shown["code"]["children"]


@pytest.mark.parametrize("data", [b"1,2\n3\n", b"\x00\xff", b"", b"a,b,c\nd,e,f\n"])
def test_a_malformed_upload_gives_a_message_and_keeps_the_table(app, client, data, data_url):
    text = data_url(data)
    found = _call(
        app,
        client,
        "table.options",
        [("upload-text", "data", text)],
        [("upload", "filename", "my.csv")],
    )
    assert found.keys() == {"upload-message"}
    assert "Traceback" not in found["upload-message"]["children"]
    assert found["upload-message"]["children"]


def test_the_downloaded_model_loads(app, client, tmp_path):
    states = [(name, "value", value) for name, value in FORM.items()]
    found = _call(
        app,
        client,
        "download-file.data",
        [("download", "n_clicks", 1)],
        states,
        "download.n_clicks",
    )
    path = tmp_path / "model.mercer"
    path.write_bytes(base64.b64decode(found["download-file"]["data"]["content"]))
    X, y = tables.moons()
    assert mc.load(path).score(X, y) == mc.SVC(10.0, kernel=mc.Gaussian(1.0)).fit(X, y).score(X, y)


def test_a_table_offers_its_planes_and_a_suitable_gamma(app, client):
    found = _call(
        app, client, "plane.options", [("table", "value", "digits")], [("plane", "value", "0,1")]
    )
    assert found["plane"]["value"] == tables.PRINCIPAL
    assert found["exponent-1"]["value"] == -0.7
