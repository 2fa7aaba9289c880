import http.client
import threading

import pytest

from mercer.cli.failure import Failure

pytest.importorskip("dash", reason='the page needs dash: pip install "mercer[explore]"')
from mercer.cli import explore
from mercer.cli.explore import server

TOKEN = "0123abcd" * 6


@pytest.fixture(scope="module")
def running():
    found = explore.prepare(0, TOKEN)
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


def _status(running, method="GET", path=f"/?token={TOKEN}", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response


def test_the_server_listens_to_this_computer_only(running):
    assert running.server_address[0] == "127.0.0.1"


def test_the_page_and_its_scripts_come_from_the_server(running):
    assert _status(running).status == 200
    assert _status(running).getheader("X-Frame-Options") == "DENY"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80"]
)
def test_other_host_names_are_refused(running, host):
    assert _status(running, Host=host).status == 400


def test_requests_of_other_sites_are_refused(running):
    assert _status(running, Origin="http://evil.example").status == 403
    assert _status(running, Origin=f"http://127.0.0.1:{running.port}").status == 200


def test_large_requests_are_refused(running):
    body = b"{" + b" " * (2 * server.BYTES)
    headers = {"Content_Type": "application/json"}
    assert (
        _status(running, "POST", f"/_dash-update-component?token={TOKEN}", body, **headers).status
        == 413
    )


@pytest.mark.parametrize(
    "path",
    ["/", "/_dash-layout", "/_dash-dependencies", "/_dash-update-component", "/assets/a.css"],
)
@pytest.mark.parametrize(
    "query", ["", "?token=", f"?token={TOKEN[:-1]}", f"?token={TOKEN}0", "?token=%FF%00\u00fc"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_without_the_token_are_refused_with_a_sentence(running, method, query, path):
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    connection.request(
        method,
        (path + query).encode("ascii", "ignore").decode(),
        headers={"Cookie": f"mercer-{running.port}=x"},
    )
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    assert response.status == 403
    assert "open the whole link that 'mercer explore' printed" in text
    assert TOKEN not in text + str(response.headers)


def test_the_cookie_of_the_first_answer_opens_the_rest(running):
    given = _status(running).getheader("Set-Cookie")
    assert "HttpOnly" in given
    assert "SameSite=Strict" in given
    cookie = given.partition(";")[0]
    assert _status(running, path="/_dash-layout", Cookie=cookie).status == 200
    assert _status(running, path="/_dash-layout", Cookie=cookie[:-1]).status == 403
    # a server at another port has another cookie
    assert _status(running, path="/", Cookie=cookie.replace(str(running.port), "1")).status == 403


def test_a_port_in_use_is_named(running):
    with pytest.raises(
        Failure, match=rf"port {running.port} of 127.0.0.1 cannot be used; choose another"
    ):
        server.bind(None, running.port)
