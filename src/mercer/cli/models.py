"""Models that a command is given: a model file of Mercer or a text model of LIBSVM."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mercer._compute.points import take_points
from mercer.cli.failure import Failure, naming
from mercer.compression import families
from mercer.expansion import Expansion
from mercer.formats.model_file import MAGIC, load

MODEL_FILE, TEXT_MODEL = "model file of Mercer", "text model of LIBSVM"


@dataclass(frozen=True)
class Opened:
    """A model that was read.

    Attributes
    ----------
    path : Path
    kind : str
        What file it is.
    size : int
        Bytes of the file.
    model : estimator, Pipeline, Kernel, Expansion or FittedExpansion
    text : str or None
        Of a text model. What it says of its features depends on the data it is used with.
    """

    path: Path
    kind: str
    size: int
    model: object
    text: str | None = None

    @property
    def source(self):
        """What `mercer.compress` takes."""
        return self.model if self.text is None else self.text

    @property
    def first(self):
        """What sees the data first: the first step of a pipeline, or the model."""
        return self.model.steps[0][1] if hasattr(self.model, "steps") else self.model

    @property
    def last(self):
        """What predicts: the last step of a pipeline, or the model."""
        return self.model.steps[-1][1] if hasattr(self.model, "steps") else self.model

    @property
    def n_features(self):
        """Columns of the data; of a text model the fewest there can be; None where there are none."""
        return getattr(self.first, "n_features_in_", None)

    @property
    def classes(self):
        """Array of classes, or None."""
        return getattr(self.last, "classes_", None)


def opened(path):
    """Read a model.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Opened

    Raises
    ------
    Failure
        For a file that is no model; the sentence names it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np, mercer as mc
    >>> from mercer.cli.models import opened
    >>> path = Path(tempfile.mkdtemp()) / "svm.mercer"
    >>> mc.save(mc.SVC().fit(np.eye(2), ["no", "yes"]), path)
    >>> opened(path).classes, opened(path).n_features
    (array(['no', 'yes'], dtype='<U3'), 2)
    """
    with naming(path):
        if path.is_dir():
            raise Failure(f"{path}: this is a folder; name a model file of Mercer or a text model of LIBSVM.")
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
        size = path.stat().st_size
        if start == MAGIC:
            return Opened(path, MODEL_FILE, size, load(path))
    if start[:1] == b"\x80":
        raise Failure(f"{path}: this looks like a pickle, which is never loaded; write the model with mercer.save.")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure(
            f"{path}: this is neither a model file of Mercer nor a text model of LIBSVM; write the model with "
            "mercer.save or mercer.formats.write_libsvm."
        ) from error
    hint = "what is no model file of Mercer must be a text model of LIBSVM"
    with naming(path, "" if text.startswith("svm_type") else hint):
        # a text without a line break would be taken for a path
        fitted = families.read(text + "\n")
    return Opened(path, TEXT_MODEL, size, fitted.with_vectors(fitted.expansion, fitted.intercept), text + "\n")


def with_one_vector(source):
    """Return a model of the same kind over its first vector only: what cannot be written shows in it at once.

    Parameters
    ----------
    source : estimator, Pipeline or str
        What `mercer.compress` takes.

    Returns
    -------
    estimator
        Of a pipeline the last step.

    Raises
    ------
    TypeError
        For what cannot be compressed.
    """
    fitted = families.read(source.steps[-1][1] if hasattr(source, "steps") else source)
    psi = fitted.expansion
    point = families.dense(take_points(psi.points, np.array([0])))
    return fitted.with_vectors(Expansion(psi.kernel, point, psi.dense_coef()[:1]), fitted.intercept)
