"""The page of `mercer explore`: kernels on a table in the browser, on this computer."""

from __future__ import annotations

import secrets
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from werkzeug.serving import BaseWSGIServer

_INSTALL = 'mercer explore needs {}, which is not installed; run pip install "mercer[explore]"'


def serve(port: int, browser: bool, callback: Callable[[str], object]) -> None:
    """Serve the page at a port of 127.0.0.1 until Ctrl-C; ``callback(text)`` tells the address, which has the token."""
    token = secrets.token_hex(24)
    server = prepare(port, token)
    address = f"http://127.0.0.1:{server.port}/?token={token}"
    callback(f"{address} (Ctrl-C stops)")
    try:
        with tempfile.TemporaryDirectory() as folder:
            if browser:
                # other users can read the arguments of a browser, but not this folder
                path = Path(folder, "open.html")
                path.write_text(f'<meta http-equiv="refresh" content="0; url={address}">')
                webbrowser.open(path.as_uri())
            server.serve_forever()
    finally:
        server.server_close()


def prepare(port: int, token: str) -> BaseWSGIServer:
    """Return the server of a new page for requests with a token; an error says how to install dash."""
    try:
        import dash  # noqa: F401
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_INSTALL.format(error.name), name=error.name) from error
    from mercer.cli.explore import page, server
    from mercer.cli.explore.state import Session

    app = page.build(Session())
    server.guard(app.server, token)
    return server.bind(app.server, port)
