"""The page of `mercer explore`: kernels on a table in the browser, on this computer."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

_INSTALL = 'mercer explore needs dash, which is not installed; run pip install "mercer[explore]"'


def serve(port: int, browser: bool, callback: Callable[[str], object]) -> None:
    """Serve the page at a port of 127.0.0.1 until Ctrl-C; ``callback(text)`` tells the address."""
    server = prepare(port)
    address = f"http://127.0.0.1:{server.port}/"
    callback(f"{address} (Ctrl-C stops)")
    if browser:
        webbrowser.open(address)
    try:
        server.serve_forever()
    finally:
        server.server_close()


def prepare(port: int) -> BaseWSGIServer:
    """Return the server of a new page; a ModuleNotFoundError says how to install dash."""
    try:
        import dash  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_INSTALL, name="dash") from error
    from mercer.cli.explore import page, server
    from mercer.cli.explore.state import Session

    app = page.build(Session())
    server.guard(app.server)
    return server.bind(app.server, port)
