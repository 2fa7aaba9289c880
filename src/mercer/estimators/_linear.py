"""The normals of models with a linear kernel, which predict without kernel values."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._common import Array, shown
from mercer.estimators._model import Model, attribute
from mercer.kernels.dot import Linear


class Normals:
    """Mixin of models with a normal for each column of values, which ``_normals()`` returns (d, m)."""

    @attribute
    def coef_(self) -> Array:
        """The normals w (m, d) of a linear kernel: values without the intercepts are ``X @ coef_.T``."""
        check_is_fitted(self)
        if not is_linear(self):
            raise AttributeError(
                f"coef_ needs kernel = 'linear': the normal of {shown(self.kernel_)} lies in its feature space, as "
                "expansion_."
            )
        return self._normals().T


def is_linear(model: Model) -> bool:
    """Whether the kernel of a fitted model is <x, z>, so that its values are those of the normals."""
    # a subclass may state other values
    return isinstance(model.kernel_, Linear) and model.kernel_.scalar is not None


def normals(vectors: Array, coef: Array) -> Array:
    """Return the normals sum_i coef_i x_i (d, m), summed in float64, in the type of the coefficients."""
    return (vectors.T @ coef.astype(np.float64)).astype(coef.dtype)
