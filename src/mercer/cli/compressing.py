"""mercer compress: a model file in, a smaller one out, and what that costs."""

from sklearn.base import is_classifier, is_outlier_detector

from mercer._compute.memory import human_bytes as human
from mercer.cli import models, tables
from mercer.cli.failure import Failure, naming
from mercer.cli.products import Product
from mercer.compression import compress


def run(options, progress):
    """Compress the model that the options name, and write it.

    Parameters
    ----------
    options : Namespace
        ``model``, ``data``, ``vectors``, ``max_loss``, ``to``, ``output``, ``dtype``, ``seed``.
    progress : Progress

    Returns
    -------
    str
        The report, and last the path of the file.

    Raises
    ------
    Failure
    """
    progress(f"reading {options.model}")
    found = models.opened(options.model)
    product = Product(options.output, options.model, options.to, options.dtype)
    product.differs_from(options.model, options.data)
    with naming(options.model):
        trial = models.with_one_vector(found.source)
    _require(found, options)
    with product.place() as write:
        with naming(options.model, "--to mercer takes every model"):
            write(trial, final=False)
        X, y = _data(found, options.data, progress)
        progress(_words(options))
        with naming(options.model):
            small = compress(
                found.source, X, y, n_vectors=options.vectors, max_loss=options.max_loss, random_state=options.seed,
                callback=progress.step,
            )  # fmt: skip
        progress(f"writing {product.path}")
        with naming(product.path):
            write(small)
    report = (small.steps[-1][1] if hasattr(small, "steps") else small).report_
    size = product.path.stat().st_size
    return f"{report}\nsize of the file: {human(found.size)} before, {human(size)} after\n{product.path}"


def _require(found, options):
    """Raise a Failure for what the model or the options cannot do, before any work."""
    if hasattr(found.model, "steps") and options.to != "mercer":
        steps = ", ".join(type(step).__name__ for _, step in found.model.steps)
        raise Failure(
            f"{found.path}: this is a pipeline ({steps}), and a {options.to} file would hold its last step only; write "
            "--to mercer, or convert it in Python: mercer.formats.register_onnx_converters."
        )
    if options.max_loss is not None and options.data is None:
        raise Failure("--max-loss needs data to measure the loss on: --data FILE")


def _data(found, path, progress):
    """Return rows and labels, None where there are none."""
    if path is None:
        return None, None
    progress(f"reading {path}")
    data = tables.table(path, found.n_features, found.kind == models.TEXT_MODEL)
    return data.X, _answers(found.last, data.y, path)


def _answers(model, y, path):
    """Return labels as the model knows them; None for models that learn without."""
    if y is None or is_outlier_detector(model) or hasattr(model, "transform"):
        return None
    return tables.labels(y, model.classes_, path) if is_classifier(model) else tables.targets(y, path)


def _words(options):
    if options.max_loss is None:
        return f"compressing to {options.vectors} vectors"
    return f"looking for the fewest vectors that lose at most {options.max_loss:g} of the score"
