import sys
import threading
import urllib.request

import pytest

from mercer.cli import explore, main


def test_without_dash_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "dash", None)
    assert main(["explore", "--no-browser"]) == 1
    assert 'run pip install "mercer[explore]"' in capsys.readouterr().err


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_does_not_exist_is_refused(port, capsys):
    with pytest.raises(SystemExit):
        main(["explore", "--port", port])
    assert "must be an integer from 0 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize("browser", [True, False])
def test_the_address_is_announced_and_answers(browser, monkeypatch):
    pytest.importorskip("dash", reason='the page needs dash: pip install "mercer[explore]"')
    opened, told, servers, prepare = [], [], [], explore.prepare
    monkeypatch.setattr(explore, "prepare", lambda port: servers.append(prepare(port)) or servers[0])
    monkeypatch.setattr(explore.webbrowser, "open", opened.append)
    thread = threading.Thread(target=explore.serve, args=(0, browser, told.append))
    thread.start()
    while not (servers and told):
        thread.join(0.05)
    address = told[0].split()[0]
    assert urllib.request.urlopen(address, timeout=30).status == 200
    servers[0].shutdown()
    thread.join(30)
    assert not thread.is_alive()
    assert opened == ([address] if browser else [])
