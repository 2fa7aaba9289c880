"""Errors of unknown arguments, which write the call to paste: remedies for parameters of scikit-learn, other names."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mercer._common import shown

# The remedy follows "SVC has no parameter nu; ".
REMEDIES = {
    "C": "SVC, SVR, NuSVR and SVDD have it; NuSVC and OneClassSVM have nu, KernelRidge has alpha",
    "nu": "NuSVC, NuSVR and OneClassSVM have it; SVDD(C=1 / (nu * n)) leaves at most the share nu of n points outside",
    "kernel_params": "they belong to the kernel: kernel=mercer.Gaussian(gamma=...), or a function of two blocks",
    "probability": "use mercer.SVCCV(calibration='sigmoid') or sklearn.calibration.CalibratedClassifierCV",
    "cache_size": "use memory, which bounds the kernel values that are kept",
    "shrinking": "leave it out; the solver decides",
    "fit_inverse_transform": "leave it out; inverse_transform needs no preparation, and preimage= chooses its method",
    "alpha": "C regularises an SVC; in KernelPCA, preimage=mercer.Learned(ridge=...) inverts by ridge",
    "eigen_solver": "leave it out; the number of rows and components decides",
    "iterated_power": "leave it out; the number of rows and components decides",
    "remove_zero_eig": "leave it out; eigenvalues that are rounding are always removed",
    "tol": "leave it out; the fit ends at the accuracy that mercer.certify recomputes",
    "max_iter": "leave it out; the fit ends at the accuracy that mercer.certify recomputes",
    "random_state": "leave it out; the fit draws no random numbers",
    "copy_X": "leave it out; rows are never changed",
    "n_jobs": "set OMP_NUM_THREADS or use joblib's or threadpoolctl's limits; all processors are used by default",
    "verbose": "use scikit-learn's callbacks (set_callbacks), or logging.getLogger('mercer')",
    "normalize_y": "another estimator scales the targets",
    "param_grid": "give the values as Cs=[...] and gammas=[...]",
    "optimizer": "tune='marginal_likelihood' or 'loo' chooses the parameters of the kernel and alpha",
    "n_restarts_optimizer": "tune='marginal_likelihood' or 'loo' chooses the parameters of the kernel and alpha",
}

# For searches, whose parameter ``Cs`` lists values.
LISTED = {"C": "give Cs, the values to try"}

# Parameters of the same meaning, with the value that they have; other names are tried by their spelling.
_SAME: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "C": ("Cs", lambda value: value if isinstance(value, (list, tuple)) else [value]),
    "cache_size": ("memory", lambda value: f"{value}MB"),
    "sigma": ("gamma", lambda value: 1 / (2 * value**2)),
    "length_scale": ("gamma", lambda value: 1 / (2 * value**2)),
} | {
    name: (other, lambda value: value)
    for other, names in {
        "alpha": ("lambda_", "noise", "reg", "regularization"),
        "nu": ("contamination", "outliers"),
        "quantile": ("q", "quantiles", "tau"),
    }.items()
    for name in names
}

# Attributes and methods of other libraries, and what has the same here.
ELSEWHERE = {
    "alphas_": "eigenvectors_",
    "lambdas_": "eigenvalues_",
    "explained_variance_": "eigenvalues_ / (n - 1), or explained_variance_ratio_",
    "alpha_": "dual_coef_, the coefficients of the support vectors times their labels",
    "w": "coef_, for kernel='linear', or expansion_",
    "b": "intercept_",
    "save": "mercer.save(model, path)",
    "log_marginal_likelihood": "tune='marginal_likelihood', which maximises it",
}

# Estimators of scikit-learn around the call, for arguments that are true.
_AROUND = {
    "probability": "sklearn.calibration.CalibratedClassifierCV({})",
    "normalize_y": "sklearn.compose.TransformedTargetRegressor({}, transformer=sklearn.preprocessing.StandardScaler())",
}


def refuse_renamed(
    cls: type[Any], names: Iterable[str], error: type[Exception] = TypeError
) -> None:
    """Raise an error for the first name that is a parameter of scikit-learn's class, but not of this one."""
    known = cls._get_param_names()
    for name in names:
        remedy = (LISTED if f"{name}s" in known else REMEDIES).get(name)
        if remedy is not None and name not in known:
            raise error(f"{cls.__name__} has no parameter {name}; {remedy}.")


def refuse_unknown(cls: type[Any], values: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Raise a TypeError for the arguments of a constructor that are no parameters, with the call without them."""
    if len(values) > 1:
        if np.ndim(values[0]) == 2:
            call = _call(cls, (), params)
            raise TypeError(
                f"{cls.__name__} takes parameters, and its fit the data: write {call}.fit(X, y)."
            )
        most = sum(not each.kw_only for each in cls.__dataclass_fields__.values())
        if len(values) == most + 1 and "kernel" in cls.__dataclass_fields__:
            call = _call(cls, values[:most], {"kernel": values[most]} | params)
            raise TypeError(
                f"{cls.__name__} takes {most} arguments without a name, got {most + 1}: write {call}."
            )
    if params.keys() <= cls.__dataclass_fields__.keys():
        return
    known = cls._get_param_names()
    kept = {name: value for name, value in params.items() if name in known}
    found = []
    around = "{}"
    for name in [name for name in params if name not in known]:
        other, convert = _SAME.get(name, (_alike(name, known), lambda value: value))
        remedy = (LISTED if f"{name}s" in known else REMEDIES).get(name)
        if other in known and other not in kept and (name in _SAME or remedy is None):
            kept[other] = convert(params[name])
            remedy = remedy or f"use {other}"
        if params[name]:
            around = _AROUND.get(name, around)
        found.append(f"{name}; {remedy or 'it has ' + ', '.join(known)}")
    if found:
        call = around.format(_call(cls, values, kept))
        raise TypeError(f"{cls.__name__} has no parameter {', nor '.join(found)}: write {call}.")


def _call(cls, values, params):
    """Return the text of a call."""
    given = [*map(shown, values), *(f"{name}={shown(value)}" for name, value in params.items())]
    return f"mercer.{cls.__name__}({', '.join(given)})"


def _alike(name, known):
    """Return the parameter whose name is spelled nearly as another one."""
    lower = {each.lower(): each for each in known}
    return next((lower[each] for each in difflib.get_close_matches(name.lower(), lower, 1)), None)
