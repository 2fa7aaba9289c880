import base64
import contextlib
import io
import json
import os
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import mercer as mc
from mercer.cli import explore, main


@pytest.mark.parametrize("name", ["dash", "matplotlib"])
def test_without_a_package_the_command_says_what_to_install(name, monkeypatch, capsys):
    pytest.importorskip("dash", reason='the page needs dash: pip install "mercer[explore]"')
    monkeypatch.setitem(sys.modules, name, None)
    assert main(["explore", "--no-browser"]) == 1
    assert (
        f'needs {name}, which is not installed; run pip install "mercer[explore]"'
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_does_not_exist_is_refused(port, capsys):
    with pytest.raises(SystemExit):
        main(["explore", "--port", port])
    assert "must be an integer from 0 to 65535" in capsys.readouterr().err


PREPARE = explore.prepare


@contextlib.contextmanager
def running(monkeypatch, *options):
    """Run the command in a thread until its page answers; give the address that it prints."""
    pytest.importorskip("dash", reason='the page needs dash: pip install "mercer[explore]"')
    servers, stream = [], io.StringIO()
    monkeypatch.setattr(
        explore, "prepare", lambda *given: servers.append(PREPARE(*given)) or servers[0]
    )
    thread = threading.Thread(target=main, args=(["explore", "--port", "0", *options],))
    with contextlib.redirect_stderr(stream):
        thread.start()
        while "Ctrl-C" not in stream.getvalue():
            thread.join(0.05)
    try:
        yield stream.getvalue().split()[0]
    finally:
        servers[0].shutdown()
        thread.join(30)
        assert not thread.is_alive()


def status_of(address):
    """Return the status of the answer to an address."""
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_the_printed_address_opens_the_page_and_the_browser_opens_it_from_a_private_file(
    monkeypatch,
):
    opened = []

    def browse(address):
        path = Path(urllib.request.url2pathname(urllib.parse.urlparse(address).path))
        opened.append((path.read_text(), path.parent.stat().st_mode & 0o077, path))

    monkeypatch.setattr(explore.webbrowser, "open", browse)
    with running(monkeypatch) as address:
        assert status_of(address) == 200
        assert status_of(address.partition("?")[0]) == 403
    ((text, others, path),) = opened
    assert f"url={address}" in text
    assert not path.exists()
    assert os.name == "nt" or others == 0
    with running(monkeypatch, "--no-browser") as second:
        assert second.partition("=")[2] != address.partition("=")[2]
        assert status_of(second.partition("=")[0] + "=" + address.partition("=")[2]) == 403
    assert len(opened) == 1


@pytest.mark.parametrize("plane", ["0,1", "1,2", "principal"])
def test_the_file_that_the_page_offers_takes_the_rows_of_the_upload(
    plane, monkeypatch, tmp_path, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    labels = np.repeat([3, 7], 40)
    rows = rng.normal(size=(80, 3)) + 1.5 * np.where(labels == 7, 1, -1)[:, None]
    rows = rows * [1.0, 400.0, 0.01] + [100.0, -3000.0, 0.0]
    text = "".join(
        f"{a!r},{b!r},{c!r},{label}\n"
        for (a, b, c), label in zip(rows.tolist(), labels, strict=True)
    )
    upload = "data:text/csv;base64," + base64.b64encode(text.encode()).decode()
    with running(monkeypatch, "--no-browser") as address:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        browser.open(address, timeout=30).read()
        root = address.partition("?")[0]
        names = json.load(browser.open(root + "_dash-dependencies", timeout=30))

        def call(first, **values):
            """Return what the callback with an output answers."""
            found = next(each for each in names if first in each["output"])
            body = {"output": found["output"], "changedPropIds": [f"{found['inputs'][0]['id']}.x"]}
            body["outputs"] = [
                dict(zip(("id", "property"), each.rsplit(".", 1), strict=True))
                for each in found["output"].strip(".").split("...")
            ]
            for kind in ("inputs", "state"):
                body[kind] = [{**each, "value": values[each["id"]]} for each in found[kind]]
            sent = urllib.request.Request(
                root + "_dash-update-component",
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
            return json.load(browser.open(sent, timeout=120))["response"]

        table = call("table.options", **{"upload-text": upload, "upload": "x.csv"})["table"][
            "value"
        ]
        form = {
            "view": "boundary",
            "table": table,
            "plane": plane,
            "operation": "alone",
            "C": 1.0,
            "size": 8,
        }
        for k in (1, 2):
            form |= {f"family-{k}": "Gaussian", f"exponent-{k}": 0.0, f"degree-{k}": 3}
        content = call("download-file.data", download=1, **form)["download-file"]["data"]["content"]
    path = tmp_path / "model.mercer"
    path.write_bytes(base64.b64decode(content))
    model = mc.load(path)
    scaled = StandardScaler().fit_transform(rows)
    points = (
        PCA(2).fit_transform(scaled)
        if plane == "principal"
        else scaled[:, [int(k) for k in plane.split(",")]]
    )
    peer = SVC(C=1.0, gamma=1.0).fit(points, labels)
    assert model.predict(rows).dtype.kind == "i"
    assert np.mean(model.predict(rows) == peer.predict(points)) > 0.98
    assert model.score(rows, labels) > 0.85
