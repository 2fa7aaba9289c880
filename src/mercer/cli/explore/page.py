"""The page in Dash: its controls, and the callbacks between them and a Session."""

import tempfile
from pathlib import Path

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from mercer._compute.memory import human_bytes
from mercer.cli.explore import choice, tables
from mercer.cli.explore.state import Session, explained, refused
from mercer.cli.explore.views import VIEWS
from mercer.cli.failure import Failure

# Inputs of every view, in the order of `_choice`; the second kernel, like the first, has three.
_FORM = (
    "view",
    "table",
    "plane",
    "operation",
    "family-1",
    "exponent-1",
    "degree-1",
    "family-2",
    "exponent-2",
    "degree-2",
    "C",
    "size",
)


def build(session: Session) -> Dash:
    """Return the app of a Session."""
    app = Dash(
        "mercer.cli.explore",
        title="Mercer",
        update_title=None,
        assets_folder=str(Path(__file__).parent / "assets"),
    )
    app.layout = lambda: _layout(session)
    _add_views(app, session)
    _add_tables(app, session)
    _add_clientside(app)
    return app


def _layout(session):
    return html.Div(
        [
            html.Header(
                [html.H1("Mercer"), html.P("Kernels on a table: choose, combine, look, download.")]
            ),
            html.Div(
                [html.Aside(_controls(session)), html.Main(_view()), _code()], className="columns"
            ),
            dcc.Store(id="upload-text"),
            dcc.Download(id="download-file"),
        ],
        id="page",
    )


def _controls(session):
    return [
        *_labelled("Table", _dropdown("table", session.names(), "moons")),
        dcc.Upload(html.Button("Upload a CSV file"), id="upload", accept=".csv,text/csv"),
        html.P(
            f"Numbers, and the label in the last column; at most {tables.ROWS} rows and {human_bytes(tables.BYTES)}. "
            "The file stays on this computer.",
            className="note",
        ),
        html.P(id="upload-message", role="status", className="message"),
        _boxed("Plane", _dropdown("plane", {"0,1": "columns 1 and 2"}, "0,1")),
        *_kernel(1, "Gaussian"),
        *_labelled(
            "Second kernel",
            _dropdown("operation", {"alone": "none", "sum": "add", "product": "multiply"}, "alone"),
        ),
        html.Div(_kernel(2, "Polynomial"), id="second"),
        _boxed("C = 10", _slider("C", -3, 4, 0.25, 1.0)),
        _boxed("Size", _dropdown("size", [*choice.SIZES], 16)),
    ]


def _kernel(number, family):
    return [
        *_labelled(
            "Kernel",
            _dropdown(f"family-{number}", [*choice.FAMILIES], family),
        ),
        _boxed("gamma = 1", _slider(f"exponent-{number}", -3, 3, 0.1, 0.0)),
        _boxed("degree", _slider(f"degree-{number}", 1, 6, 1, 3, {k: str(k) for k in range(1, 7)})),
    ]


def _view():
    return [
        dcc.RadioItems(
            {name: view.title for name, view in VIEWS.items()},
            "boundary",
            id="view",
            className="tabs",
        ),
        html.P(id="text"),
        html.P(id="message", role="status", className="message"),
        dcc.Loading(html.Div(id="figure"), delay_show=500, overlay_style={"visibility": "visible"}),
        html.P(id="facts", className="facts"),
        html.Button("Download the model", id="download"),
        html.P(id="download-message", role="status", className="message"),
    ]


def _code():
    copy = dcc.Clipboard(target_id="code", title="copy", className="copy")
    return html.Section([html.H2("Code"), html.Div([copy, html.Pre(id="code")], className="code")])


def _labelled(text, control):
    return [html.Label(text, id=f"{control.id}-label", htmlFor=control.id), control]


def _boxed(text, control):
    """Return a control with its label in a box that the page can hide."""
    return html.Div(_labelled(text, control), id=f"{control.id}-box")


def _dropdown(name, options, value):
    return dcc.Dropdown(options, value, id=name, clearable=False, searchable=False)


def _slider(name, low, high, step, value, marks=None):
    marks = {k: f"{10.0**k:g}" for k in range(low, high + 1, 2)} if marks is None else marks
    return dcc.Slider(low, high, step, value=value, marks=marks, id=name, allow_direct_input=False)


def _choice(values):
    view, table, plane, operation, *parts, exponent, size = values
    return choice.read(view, table, plane, operation, [parts[:3], parts[3:]], exponent, size)


def _add_views(app, session):
    """Add the callbacks that show a view and download its model."""
    form = [Input(name, "value") for name in _FORM]
    shown = [Output(name, "children") for name in ("figure", "text", "message", "facts", "code")]

    @app.callback(*shown, Output("download", "disabled"), *form)
    def show(*values):
        try:
            answer = session.answer(_choice(values))
        except Failure as failure:
            answer = refused(failure)
        view = VIEWS.get(str(values[0]), VIEWS["boundary"])
        without = not (answer.code and view.downloads)
        picture = _picture(view.title, *answer.pictures) if answer.pictures else None
        return picture, view.text, answer.message, " · ".join(answer.facts), answer.code, without

    @app.callback(
        Output("download-file", "data"),
        Output("download-message", "children"),
        Input("download", "n_clicks"),
        *[State(name, "value") for name in _FORM],
        prevent_initial_call=True,
    )
    def download(_clicks, *values):
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.mercer"
                session.model(_choice(values), path)
                return dcc.send_file(path), _done('mc.load("model.mercer") reads the file.')
        except Exception as error:
            return no_update, explained(error)


def _picture(title, light, dark):
    """Return the picture of a view, which follows the theme of the browser."""
    source = html.Source(media="(prefers-color-scheme: dark)", srcSet=dark)
    return html.Picture([source, html.Img(src=light, alt=title)])


def _done(text):
    """Return a message of success."""
    return html.Span(text, className="done")


def _add_tables(app, session):
    """Add the callbacks that take an upload and offer the planes of a table."""

    @app.callback(
        Output("table", "options"),
        Output("table", "value"),
        Output("upload-message", "children"),
        Input("upload-text", "data"),
        State("upload", "filename"),
        prevent_initial_call=True,
    )
    def upload(contents, name):
        # the browser refused the file, and told why
        if contents is None:
            return no_update, no_update, no_update
        try:
            key = session.upload(str(contents), str(name)[:60])
        except Exception as error:
            return no_update, no_update, explained(error)
        return session.names(), key, _done(f"{str(name)[:60]} is loaded.")

    @app.callback(
        Output("plane", "options"),
        Output("plane", "value"),
        Output("exponent-1", "value"),
        Input("table", "value"),
        State("plane", "value"),
    )
    def planes(key, plane):
        try:
            found = session.table(key).planes()
        except Exception:
            return no_update, no_update, no_update
        return found, plane if plane in found else next(iter(found)), tables.EXPONENTS.get(key, 0.0)


def _add_clientside(app):
    """Add the callbacks that run in the browser: labels of sliders, controls that a view does not use, large files."""
    for number in (1, 2):
        app.clientside_callback(
            ClientsideFunction("mercer", "kernel"),
            Output(f"exponent-{number}-label", "children"),
            Output(f"exponent-{number}-box", "style"),
            Output(f"degree-{number}-box", "style"),
            Input(f"family-{number}", "value"),
            Input(f"exponent-{number}", "value"),
        )
    app.clientside_callback(
        ClientsideFunction("mercer", "controls"),
        [Output(name, "style") for name in ("second", "C-box", "size-box", "plane-box")],
        Output("C-label", "children"),
        Output("size-label", "children"),
        Input("operation", "value"),
        Input("view", "value"),
        Input("C", "value"),
    )
    app.clientside_callback(
        f"(contents) => contents.length > {tables.BYTES * 4 // 3 + 200} "
        f"? [null, 'The file is too large; the limit is {human_bytes(tables.BYTES)}.'] : [contents, '']",
        Output("upload-text", "data"),
        Output("upload-message", "children", allow_duplicate=True),
        Input("upload", "contents"),
        prevent_initial_call=True,
    )
