"""Parameters of scikit-learn's kernel estimators that a class of Mercer lacks, for the error of a wrong name."""

from collections.abc import Iterable
from typing import Any

# The remedy follows "SVC has no parameter nu; ".
REMEDIES = {
    "C": "SVC, SVR, NuSVR and SVDD have it; NuSVC and OneClassSVM have nu, KernelRidge has alpha.",
    "nu": "NuSVC, NuSVR and OneClassSVM have it; SVDD(C=1 / (nu * n)) leaves at most the share nu of n points outside.",
    "kernel_params": "they belong to the kernel: kernel=mercer.Gaussian(gamma=...), or a function of two blocks.",
    "probability": "use mercer.SVCCV(calibration='sigmoid') or sklearn.calibration.CalibratedClassifierCV.",
    "cache_size": "use memory='1GB', which bounds the kernel values that are kept.",
    "shrinking": "leave it out; the solver decides.",
    "fit_inverse_transform": "leave it out; inverse_transform needs no preparation, and preimage= chooses its method.",
    "alpha": "C regularises an SVC; in KernelPCA, preimage=mercer.Learned(ridge=...) inverts by ridge.",
    "eigen_solver": "leave it out; the number of rows and components decides.",
    "iterated_power": "leave it out; the number of rows and components decides.",
    "remove_zero_eig": "leave it out; eigenvalues that are rounding are always removed.",
    "tol": "leave it out; the fit ends at the accuracy that mercer.certify recomputes.",
    "max_iter": "leave it out; the fit ends at the accuracy that mercer.certify recomputes.",
    "random_state": "leave it out; the fit draws no random numbers.",
    "copy_X": "leave it out; rows are never changed.",
    "n_jobs": "set OMP_NUM_THREADS or use joblib's or threadpoolctl's limits; all processors are used by default.",
    "verbose": "use scikit-learn's callbacks (set_callbacks), or logging.getLogger('mercer').",
}


# For searches, whose parameters ``Cs`` and ``gammas`` list values.
LISTED = {
    "C": "give Cs, the values to try.",
}


def refuse_renamed(cls: type[Any], names: Iterable[str], error: type[Exception] = TypeError) -> None:
    """Raise an error for the first name that is a parameter of scikit-learn's class, but not of this one."""
    known = cls._get_param_names()
    for name in names:
        remedy = (LISTED if f"{name}s" in known else REMEDIES).get(name)
        if remedy is not None and name not in known:
            raise error(f"{cls.__name__} has no parameter {name}; {remedy}")
