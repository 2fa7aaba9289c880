"""The local server of the page: 127.0.0.1 only, requests of this page only, of limited size."""

import logging

from flask import Flask, abort, request
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from mercer.cli.explore.tables import BYTES
from mercer.cli.failure import Failure

HOST = "127.0.0.1"


def guard(server: Flask) -> None:
    """Refuse requests that other sites send or whose host name is another, and requests that are too large."""
    # a file takes four thirds of its bytes as text; the rest of a request is small
    server.config.update(TRUSTED_HOSTS=[HOST, "localhost"], MAX_CONTENT_LENGTH=2 * BYTES)

    @server.before_request
    def refuse():
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.host}":
            abort(403)

    @server.after_request
    def restrict(response):
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        return response


def bind(server: Flask, port: int) -> BaseWSGIServer:
    """Return a server at a port of 127.0.0.1 (0: any free one); a Failure where the port is taken."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    try:
        return make_server(HOST, port, server, threaded=True, request_handler=_Quiet)
    except (OSError, SystemExit) as error:
        raise Failure(f"port {port} of {HOST} cannot be used; choose another one with --port") from error


class _Quiet(WSGIRequestHandler):
    def log(self, type, message, *args):
        """Write nothing about single requests."""
