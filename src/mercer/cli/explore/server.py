"""The local server of the page: 127.0.0.1 only, requests of this page only, of limited size."""

import hmac
import logging

from flask import Flask, Response, abort, request
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from mercer.cli.explore.tables import BYTES
from mercer.cli.failure import Failure

HOST = "127.0.0.1"
_NO_TOKEN = (
    "The address must have the token of this page: "
    "open the whole link that 'mercer explore' printed in its terminal.\n"
)


def guard(server: Flask, token: str) -> None:
    """Refuse requests without the token, from other sites or for other host names, and requests that are too large.

    The address of the page has the token. Its answer sets a cookie with it, which further requests of the page have.
    """
    # a file takes four thirds of its bytes as text; the rest of a request is small
    server.config.update(TRUSTED_HOSTS=[HOST, "localhost"], MAX_CONTENT_LENGTH=2 * BYTES)

    def is_token(found):
        return hmac.compare_digest(found.encode(), token.encode())

    def cookie():
        # browsers share the cookies of all ports
        return f"mercer-{request.environ['SERVER_PORT']}"

    @server.before_request
    def refuse():
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.host}":
            abort(403)
        if not is_token(request.args.get("token", request.cookies.get(cookie(), ""))):
            return Response(_NO_TOKEN, 403, mimetype="text/plain")
        return None

    @server.after_request
    def restrict(response):
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        # the address has the token
        response.headers["Referrer-Policy"] = "same-origin"
        if is_token(request.args.get("token", "")):
            response.set_cookie(cookie(), token, httponly=True, samesite="Strict")
        return response


def bind(server: Flask, port: int) -> BaseWSGIServer:
    """Return a server at a port of 127.0.0.1 (0: any free one); a Failure where the port is taken."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    try:
        return make_server(HOST, port, server, threaded=True, request_handler=_Quiet)
    except (OSError, SystemExit) as error:
        raise Failure(
            f"port {port} of {HOST} cannot be used; choose another one with --port"
        ) from error


class _Quiet(WSGIRequestHandler):
    def log(self, type, message, *args):
        """Write nothing about single requests."""
