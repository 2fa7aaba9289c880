"""Model files that a command reads: Mercer's own or LIBSVM text models."""

from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from mercer._common import Array, record
from mercer._compute.points import dense, take_points
from mercer.cli.failure import Failure, naming
from mercer.cli.tables import require_file
from mercer.compression import families
from mercer.estimators.base import KernelEstimator
from mercer.estimators.table import TableModel
from mercer.expansion import Expansion
from mercer.formats.model_file import MAGIC, load

MODEL_FILE = "Mercer model file"
TEXT_MODEL = "LIBSVM text model"


@record
class ModelFile:
    """A model file that was read; ``text`` is the content of a text model."""

    path: Path
    kind: str
    size: int
    model: BaseEstimator
    text: str | None = None

    @property
    def source(self) -> str | BaseEstimator:
        """The model as `mercer.compress` takes it: a text model as text, whose width follows the data."""
        return self.model if self.text is None else self.text

    @property
    def last(self) -> BaseEstimator:
        """The last step of a pipeline, or the model."""
        return families.last_of(self.model)

    @property
    def n_features(self) -> int | None:
        """Columns of the data, the least possible number for a text model, or None for a kernel."""
        return getattr(self.model, "n_features_in_", None)

    @property
    def classes(self) -> Array | None:
        """Array of classes, or None."""
        return getattr(self.last, "classes_", None)


def read(path: Path) -> ModelFile:
    """Return the ModelFile at a path, or raise a Failure that names the path.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np, mercer as mc
    >>> from mercer.cli import models
    >>> path = Path(tempfile.mkdtemp()) / "svm.mercer"
    >>> mc.save(mc.SVC().fit(np.eye(2), ["no", "yes"]), path)
    >>> models.read(path).classes, models.read(path).n_features
    (array(['no', 'yes'], dtype='<U3'), 2)
    """
    with naming(path):
        require_file(path, "a Mercer model file or a LIBSVM text model")
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
        size = path.stat().st_size
        if start == MAGIC:
            return ModelFile(path, MODEL_FILE, size, load(path))
    if start[:1] == b"\x80":
        raise Failure(
            f"{path}: this looks like a pickle, which is never loaded; in Python mercer.save(joblib.load(path), "
            "'model.mercer') writes its model to a file of Mercer, and mercer.compress(joblib.load(path), X, y, "
            "n_vectors=...) returns a smaller one."
        )
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure(
            f"{path}: this is neither a Mercer model file nor a LIBSVM text model; write the model with mercer.save or "
            "mercer.formats.write_libsvm."
        ) from error
    remedy = (
        "" if text.startswith("svm_type") else "name a Mercer model file or a LIBSVM text model"
    )
    with naming(path, remedy):
        # a text without a line break would be taken for a path
        model = families.read(text + "\n")
    return ModelFile(path, TEXT_MODEL, size, model, text + "\n")


def with_one_vector(source: str | BaseEstimator) -> KernelEstimator | TableModel:
    """Return a model (of a pipeline its last step) with its first vector only, to try whether it can be written.

    A model of tables is returned as it is.
    """
    last = families.last_of(source)
    if isinstance(last, TableModel):
        return last
    model = families.read(getattr(last, "best_estimator_", last))
    psi = model.expansion_
    point = dense(take_points(psi.points, np.array([0])))
    return families.with_vectors(
        model, Expansion(psi.kernel, point, psi.coef[:1]), model.intercept_
    )
