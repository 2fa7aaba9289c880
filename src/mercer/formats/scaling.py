"""Scalers of scikit-learn before an exported model, as one shift and one factor for each column."""

import functools

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from mercer._common import Array, shown

Scaling = tuple[Array | float, Array | float]


def scaling(pipeline: Pipeline) -> Scaling:
    """Return shift a and factor b of all steps but the last, which map x to (x - a) * b, or raise TypeError.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler, StandardScaler
    >>> from mercer.formats.scaling import scaling
    >>> X = np.array([[0.0], [4.0]])
    >>> scaling(make_pipeline(StandardScaler(), MinMaxScaler(), None).fit(X))
    (array([0.]), array([0.25]))
    """
    shift = 0.0
    factor = 1.0
    for name, step in pipeline.steps[:-1]:
        if step in (None, "passthrough"):
            continue
        found = _read(step)
        if found is None:
            raise TypeError(
                f"the step {shown(name)}, {type(step).__name__}, cannot be exported; StandardScaler, RobustScaler, "
                "and without clip MaxAbsScaler and MinMaxScaler can. Export the last step, pipeline[-1], and prepare "
                "inputs as the earlier steps do, or convert the pipeline to ONNX: skl2onnx.to_onnx(pipeline, X) after "
                "mercer.formats.register_onnx_converters()."
            )
        shift = shift + found[0] / factor
        factor = factor * found[1]
    return shift, factor


@functools.singledispatch
def _read(step: object) -> Scaling | None:
    """Return shift and factor of a fitted scaler, None for a step that is not linear in each column."""


@_read.register
def _(step: StandardScaler):
    return _numbers(step.mean_ if step.with_mean else None, 0.0), 1 / _numbers(step.scale_, 1.0)


@_read.register
def _(step: RobustScaler):
    return _numbers(step.center_, 0.0), 1 / _numbers(step.scale_, 1.0)


@_read.register
def _(step: MaxAbsScaler):
    # scikit-learn before 1.8 has no clip
    return None if getattr(step, "clip", False) else (0.0, 1 / _numbers(step.scale_, 1.0))


@_read.register
def _(step: MinMaxScaler):
    factor = _numbers(step.scale_, 1.0)
    return None if step.clip else (-step.min_ / factor, factor)


def _numbers(values, default):
    # scalers of float32 rows have attributes in float32
    return np.asarray(default if values is None else values, np.float64)
