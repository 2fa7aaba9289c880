"""InvariantMap, the linear map that makes distances insensitive to transformations, and ``invariant_kernel``."""

from typing import Any, Self

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_is_fitted

from mercer._common import EPS, Array, ArrayLike, PointsLike, check_number, shown
from mercer.estimators.base import validated_rows
from mercer.estimators.inherited import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from mercer.estimators.model import Model, fits, on_device, storable_estimator
from mercer.invariance._tangents import Transforms, tangent_covariance
from mercer.kernels import Mapped
from mercer.kernels.base import Kernel, require_kernel


@storable_estimator
class InvariantMap(Model, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    r"""Linear map of rows that scales back the directions in which transformations move them.

    .. math:: x \mapsto B x, \qquad B = C_\lambda^{-1/2}, \qquad C_\lambda = (1 - \lambda) C + \lambda I

    with the tangent covariance C. A method of inner products on B x regularises the derivative of its function along
    the tangents, so that it depends less on the transformations.

    Parameters
    ----------
    transforms : list, dict or callable
        Functions ``g(X, t)``, as in `tangents`; their covariances are added.
    weight : float
        lambda, from 0 to 1: 1 means no invariance, small values scale the tangents back further. The units of X count:
        C is compared with the identity. With 0, B = C^(-1/2) by the pseudo-inverse: directions in which no
        transformation moves a row, up to rounding, are lost.
    step : float, optional
        Of central differences, as in `tangents`.

    Attributes
    ----------
    components_ : array (d, d)
        B, symmetric and positive definite, of weight 0 positive semidefinite.
    covariance_ : array (d, d)
        C.
    n_features_in_ : int

    Raises
    ------
    TypeError, ValueError
        As in `tangents`; for a weight outside of [0, 1].

    See Also
    --------
    invariant_kernel : The kernel k(B x, B z).
    invariant_feature_kernel : The same for the tangents in feature space.

    Notes
    -----
    O(n a d^2 + d^3) for a transformations, in float64. ``mercer.save`` takes a map whose transformations are those of
    `image_transforms`.

    References
    ----------
    Schoelkopf, Simard, Smola, Vapnik, *Prior knowledge in support vector kernels*, NIPS 10 (1998), eq. (13).
    Schoelkopf, Smola, Mueller, Burges, Vapnik, *Support vector methods in learning and feature extraction*, Australian
    Journal of Intelligent Information Processing Systems 5 (1998), eq. (42).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.invariance import InvariantMap
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0]])
    >>> b = InvariantMap([lambda X, t: X + [t, 0.0]], weight=0.25).fit(X)
    >>> b.components_
    array([[1., 0.],
           [0., 2.]])
    >>> np.allclose(b.inverse_transform(b.transform(X)), X)
    True
    """

    transforms: Any
    weight: float = 0.9
    step: float | None = None

    @fits
    def fit(
        self, X: PointsLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Compute the map from the tangents of training rows.

        Parameters
        ----------
        X : rows (n, d)
        y : ignored
        sample_weight : array (n,), optional
            Weights of the rows in the covariance.

        Returns
        -------
        self
        """
        check_weight(self.weight)
        X = validated_rows(self, X, reset=True)
        covariance = tangent_covariance(X, self.transforms, sample_weight, step=self.step)
        self.covariance_ = covariance
        self.components_: Array = inverse_root(covariance, self.weight).astype(X.dtype, copy=False)
        self._n_features_out = X.shape[1]
        return self

    @on_device
    def transform(self, X: PointsLike) -> Any:
        """Return the mapped rows B x (n_test, d).

        Parameters
        ----------
        X : rows (n_test, d)

        Returns
        -------
        array (n_test, d)
        """
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False)
        return X @ self.components_.astype(X.dtype, copy=False)

    @on_device
    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the rows whose images are given, B^-1 x; of weight 0 the shortest of the rows with the nearest images.

        Parameters
        ----------
        X : array (n_test, d)

        Returns
        -------
        array (n_test, d)
        """
        check_is_fitted(self)
        X = validated_rows(self, X, reset=False)
        back = X.astype(np.float64) @ scipy.linalg.pinvh(self.components_.astype(np.float64))
        return back.astype(X.dtype, copy=False)


def invariant_kernel(
    kernel: Kernel,
    X: PointsLike,
    transforms: Transforms,
    weight: float = 0.9,
    sample_weight: ArrayLike | None = None,
    *,
    step: float | None = None,
) -> Kernel:
    r"""Return the kernel k(B x, B z), which depends less on transformations of x and z.

    .. math:: B = ((1 - \lambda) C + \lambda I)^{-1/2}

    with the tangent covariance C of X. It is ``Mapped(kernel, B)``.

    Parameters
    ----------
    kernel : Kernel
        On rows. Its bandwidth rules are resolved later, on mapped points.
    X : rows (n, d)
        Training points.
    transforms : list, dict or callable
        Functions ``g(X, t)``, as in `tangents`.
    weight : float
        lambda, from 0 to 1, as in `InvariantMap`; 1 means no invariance.
    sample_weight : array (n,), optional
        Weights of the rows in the covariance.
    step : float, optional
        Of central differences, as in `tangents`.

    Returns
    -------
    Mapped

    Raises
    ------
    TypeError, ValueError
        As in `InvariantMap`.

    References
    ----------
    Schoelkopf, Smola, Mueller, Burges, Vapnik, *Support vector methods in learning and feature extraction*, Australian
    Journal of Intelligent Information Processing Systems 5 (1998), eq. (42).

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> k = mc.invariance.invariant_kernel(mc.Linear(), np.eye(2), [lambda X, t: X + [t, 0.0]], weight=0.25)
    >>> k(np.array([[3.0, 1.0]]))
    array([[13.]])
    """
    require_kernel(kernel)
    check_weight(weight)
    return Mapped(
        kernel, inverse_root(tangent_covariance(X, transforms, sample_weight, step=step), weight)
    )


def check_weight(weight: float) -> None:
    """Raise unless the weight of the identity is from 0 to 1."""
    check_number("weight", weight)
    if not 0 <= weight <= 1:
        raise ValueError(
            f"weight = {shown(weight)} must be from 0 to 1: 1 means no invariance, and smaller values mean more."
        )


def inverse_root(covariance: Array, weight: float) -> Array:
    """Return ((1 - weight) C + weight I)^(-1/2) in float64, symmetric; of weight 0 the pseudo-inverse."""
    values, vectors = np.linalg.eigh(covariance.astype(np.float64))
    # C has no negative eigenvalues, but they may be rounded below 0
    values = np.maximum(values, 0)
    if weight == 0:
        kept = values > len(values) * EPS * values[-1]
        values = values[kept]
        vectors = vectors[:, kept]
    scale = 1 / np.sqrt((1 - float(weight)) * values + float(weight))
    return (vectors * scale) @ vectors.T
