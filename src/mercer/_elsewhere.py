"""Names of other libraries, and other spellings: errors of unknown names and arguments say what to write instead."""

import difflib
import functools
import inspect
import re
import sys
from collections.abc import Callable
from dis import opmap
from importlib import import_module
from importlib.util import find_spec
from numbers import Real
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

import sklearn
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from mercer._common import shown

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _inverse(table):
    """Return the key for each of the words of a table."""
    return {word: key for key, words in table.items() for word in words.split()}


# Names of kernels that estimators take, and those of other libraries.
_KERNELS = {*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}
_KERNELS_ELSEWHERE = _inverse(
    {
        "laplacian": "exponential laplace laplacedot",
        "linear": "lin vanilladot",
        "poly": "polydot",
        "rbf": "gauss gaussian radial rbfdot se squared_exponential",
        "sigmoid": "hyperbolic tanh tanhdot",
    }
)

# --- parameters ------------------------------------------------------------------------------------------------------

# The remedy follows "SVC has no parameter nu; ". One with "..." holds what to write; the others say to leave it out.
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
    "param_grid": "give the values as Cs and gammas",
    **dict.fromkeys(
        ("optimizer", "n_restarts_optimizer"),
        "tune='marginal_likelihood' or 'loo' chooses the parameters of the kernel and alpha of mercer.KernelRidge",
    ),
}
# Remedies of arguments of any call.
_OF_CALLS = {
    "alpha": "compare the pvalue of the result with it",
    "label": "fit(X, y) takes it",
    "target": "fit(X, y) takes it",
    **dict.fromkeys(
        ("cat_features", "categorical_feature", "categorical_features"),
        "columns of texts, of booleans and of dtype category are taken as categories",
    ),
    **dict.fromkeys(
        ("device", "gpu_id", "use_gpu"),
        "give arrays of the device; docs/guide/gpu.md says what runs there",
    ),
    "proba": "mercer.SVCCV(calibration='sigmoid') has predict_proba(X)",
    "return_interval": "mercer.KernelRidge() has predict_interval(X, confidence=0.9)",
    "return_std": "mercer.SVCCV(calibration='sigmoid') has predict_proba(X) for classes, and for numbers "
    "mercer.KernelRidge() has predict(X, return_std=True)",
    "verbose": REMEDIES["verbose"],
}


def _gamma(factor, power, formula):
    """Return the entry of a width in `_SAME`: gamma = 1 / (factor width^power), a rule for a rule."""
    return (
        "gamma",
        lambda width: (
            (width if width == "median" else "scale")
            if isinstance(width, str)
            else float(f"{1 / (factor * width**power):.12g}")
        ),
        f"give gamma = 1 / {formula}",
    )


# Parameters of the same meaning, with the function of their value and a remedy; first those of a class or kernel.
_SAME: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "c": (
        "Cs",
        lambda value: value if hasattr(value, "__len__") else [value],
        "give Cs, the values to try",
    ),
    "kernelridge.c": ("alpha", lambda value: 1 / (2 * value), "give alpha = 1 / (2 C)"),
    "alpha": ("confidence", lambda value: round(1 - value, 12), "use confidence"),
    "nystroem.nlandmarks": ("n_components", lambda value: value, "use n_components"),
    "cachesize": (
        "memory",
        lambda value: value if isinstance(value, str) else f"{value}MB",
        REMEDIES["cache_size"],
    ),
    "kernelscale": _gamma(1, 2, "{}^2"),
    "optimizer": ("tune", lambda value: value and "marginal_likelihood", REMEDIES["optimizer"]),
    "nrestartsoptimizer": ("tune", lambda _: "marginal_likelihood", REMEDIES["optimizer"]),
}
for _width in ("sigma", "length", "lengthscale", "bandwidth", "width", "kernelwidth"):
    _other = ", or gamma = sigma where the kernel is exp(-sigma |x - z|^2), as in kernlab"
    _SAME[f"laplacian.{_width}"] = _gamma(1, 1, "{}")
    _SAME[_width] = _gamma(
        2, 2, f"(2 {{}}^2) for a standard deviation{_other if _width == 'sigma' else ''}"
    )
# Names of one meaning and one value; others are found by their spelling.
_GROUPS = [
    names.split()
    for names in (
        "landmarks n_landmarks",
        "C cost box_constraint regularization",
        "epsilon tube insensitivity",
        "gamma kernel_gamma",
        "coef0 bias offset",
        "cv folds n_folds n_splits",
        "max_loss max_error",
        "period periodicity",
        "alpha lambda lam l2 noise reg reg_lambda regularization ridge weight_decay",
        "nu contamination outliers outlier_fraction outliers_fraction",
        "quantile q quantiles tau alpha",
        "n_vectors n k size n_components vectors ratio n_landmarks to budget n_sv max_sv",
        "n_components n_comps n_landmarks n_features features k d n dim",
        "iterations h n_iter depth",
        "length k n p sigma length_scale bandwidth",
        "mismatches m",
        "sample_weight weights weight w",
        "n_permutations nboot n_resamples B",
        "kernel kernel_function kernel_type kern",
        "degree kernel_degree d p power order polynomial_order",
        "confidence level coverage",
        "X data",
        "y target targets label labels",
        "path filename file fname",
        "n n_samples",
        "d n_features",
    )
]
# Calls around a call, and an argument that they stand for: those of estimators, and of kernels.
_AROUND = {
    "fit": {
        "probability": "sklearn.calibration.CalibratedClassifierCV({})",
        "normalizey": "sklearn.compose.TransformedTargetRegressor({}, "
        "transformer=sklearn.preprocessing.StandardScaler())",
        **dict.fromkeys(
            ("standardize", "scale", "normalize"),
            "sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), {})",
        ),
    },
    "vjp": {
        "activedims": "mercer.Mapped({}, numpy.r_[{}])",
        "normalize": "mercer.Normalized({})",
        "variance": "{1} * {0}",
    },
}
# Keys of dicts of parameters, as kernlab has them.
_KEYS = {"sigma": "gamma", "scale": "gamma", "offset": "coef0"}
# Parameters for the options of LIBSVM.
_LIBSVM = (
    "C for -c, gamma for -g, epsilon for -p, nu for -n, degree for -d, coef0 for -r, tol for -e, memory for -m, and "
    "kernel='linear', 'poly', 'rbf' or 'sigmoid' for -t 0, 1, 2 or 3, as in mercer.SVR(kernel='rbf', C=10, epsilon=0.1)"
)
_SCALES = (
    "; a scale for each column is mercer.Mapped(mercer.Gaussian(0.5), 1 / numpy.array({})), and mercer.learn_scales "
    "finds it"
)
# Ends of the errors of functions.
_NOTES = {
    "patch_sklearn": "; it patches SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelPCA, KernelRidge and Nystroem at once; "
    "for LinearSVC use SVC(kernel='linear')"
}


class _Repair(NamedTuple):
    """A call: its arguments, remedies of others, those without one, calls around it, whether nothing is left out."""

    kept: dict[str, Any]
    remedies: dict[str, list[str]]
    lost: list[str]
    around: str
    complete: bool


def refuse_unknown(cls: type[Any], values: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Raise a TypeError for arguments of an estimator that are no parameters, or stand in the place of another one."""
    first = cls.__match_args__[:1]
    if len(values) > 1 or (values and (first == ("kernel",) or not isinstance(values[0], Real))):
        _refuse_misplaced(cls, values, params)
    if not params.keys() <= cls.__dataclass_fields__.keys():
        refuse_call(cls, values, params)


def _refuse_misplaced(cls, values, params):
    """Raise a TypeError for arguments of an estimator without a name that are data, or a kernel in another place."""
    said = f"{cls.__name__} takes parameters"
    if any(getattr(value, "ndim", 0) == 2 for value in values):
        _refuse(cls, {}, params, said=f"{said}, and its fit the data", around="{}.fit(X, y)")
    if isinstance(values[0], str) and values[0].startswith("-"):
        raise TypeError(f"{said}, not options of LIBSVM: write {_LIBSVM}.")
    known = inspect.signature(cls).parameters
    names = [name for name, each in known.items() if each.kind is not each.KEYWORD_ONLY]
    others = dict.fromkeys((*names, "n_components", "Cs", "C"))
    others = (name for name in others if name in known and name != "kernel")
    placed = {}
    for value in values:
        if isinstance(value, dict) and "Cs" in known:
            refuse_call(cls, (), params | {"param_grid": value})
        kind = isinstance(value, str) or (callable(value) and not hasattr(value, "fit"))
        kernel = kind and (
            names[0] == "kernel" or not isinstance(value, str) or kernel_named(value)
        )
        placed["kernel" if kernel else next(others, "kernel")] = value
    if "kernel" in known and placed != dict(zip(names, values, strict=False)):
        said = f"{cls.__name__} takes {' and '.join(names)} without a name"
        _refuse(cls, {}, placed | params, said=said)


def explained(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that says what to write if it is called with arguments which it does not have."""

    @functools.wraps(function)
    def called(*values: _P.args, **params: _P.kwargs) -> _R:
        try:
            return function(*values, **params)
        except TypeError:
            refuse_call(function, values, params)
            raise

    return called


def refuse_call(
    function: Callable[..., Any], values: tuple[Any, ...], params: dict[str, Any]
) -> None:
    """Raise a TypeError that writes a call for arguments that a function, method or class does not have, or lacks."""
    signature = inspect.signature(function)
    try:
        signature.bind(*values, **params)
    except TypeError as error:
        _refuse(function, dict(zip(signature.parameters, values, strict=False)), params, error)


def _refuse(function, given, params, reason="", said="", around="{}"):
    """Raise a TypeError that writes a call whose arguments have the meaning of those given by place and by name."""
    known = dict(inspect.signature(function).parameters)
    known.pop("self", None)
    model = given.pop("self", None)
    label = function.__name__ if model is None else f"{type(model).__name__}.{function.__name__}"
    path = _public(function) if model is None else function.__name__
    names = sorted(known) if isinstance(function, type) else list(known)
    given = {name: _own_kernel(name, value) for name, value in given.items()}
    placed = [name for name in given if known[name].kind is not known[name].KEYWORD_ONLY]
    repair = _repaired(function, model, label, given, params, names)
    values = given | repair.kept
    missing = [
        name for name, each in known.items() if each.default is each.empty and name not in values
    ]
    if "X" in missing and "y" in names and "y" not in {*values, *missing}:
        missing.append("y")
    texts = [*(_text(values.pop(name), name) for name in placed), *missing]
    call = around.format(repair.around.format(_written(path, texts, values)))
    found = [f"{', '.join(each)}; {remedy}" for remedy, each in repair.remedies.items()]
    if reason and not found:
        said = f"{label} takes ({', '.join(names)}): {reason}{_NOTES.get(label, '')}"
    unknown = found and f"{label} has no parameter {', nor '.join(found)}"
    text = "; ".join(filter(None, (said, unknown)))
    fault = "" if missing else _fault(function, given | repair.kept)
    if fault:
        text = f"{text}; {fault}"
    elif repair.complete:
        without = f"without {' and '.join(repair.lost)} " if repair.lost else ""
        text = f"{text}: {without}write {call}"
    raise TypeError(f"{text}.") from None


def _spread(params, known):
    """Return arguments with the entries of dicts, such as kpar of kernlab, in their place, and the names of these."""
    spread = {}
    dicts = []
    for name, value in params.items():
        entries = {
            f"{key}s" if f"{key}s" in known else _KEYS.get(key, key): each
            for key, each in (value.items() if isinstance(value, dict) else ())
        }
        if name in known or entries.keys().isdisjoint(known):
            spread[name] = value
        else:
            spread |= entries
            dicts.append(name)
    return spread, dicts


def _remedy(function, model, name):
    """Return what is written instead of an argument that has no equivalent, or None."""
    if name in getattr(type(model), "_get_param_names", list)():
        return "it is a parameter of the estimator"
    found = _OF_CALLS.get(name)
    if isinstance(function, type):
        found = REMEDIES.get(name) or found or (hasattr(function, "fit") and _holders(name))
    return found or None


def _repaired(function, model, label, given, params, known):
    """Return what to write for arguments given by name, beside those given by place."""
    templates = [_AROUND[each] for each in _AROUND if hasattr(function, each)]
    params, dicts = _spread(params, known)
    remedies = {}
    for name in dicts:
        remedies[_remedy(function, model, name) or "its entries are parameters"] = [name]
    params = {name: _own_kernel(name, value) for name, value in params.items()}
    kept = {name: value for name, value in params.items() if name in known}
    lost = []
    around = "{}"
    complete = True
    for name in [name for name in params if name not in known]:
        value = params[name]
        remedy = _remedy(function, model, name)
        same = _same(label, _plain(name), kept.get("kernel"), known, remedy is None)
        template = templates and templates[0].get(_plain(name))
        if template:
            remedy = remedy or "a call around it does this"
            if shown(value) not in ("None", "False", "0"):
                around = template.format(around, _text(value, name))
        elif same:
            other, convert, remedy = same
            remedy = remedy.format(name)
            try:
                value = convert(value)
            except (ArithmeticError, TypeError, ValueError):
                complete = False
                remedy += _SCALES.format(name) * hasattr(value, "__len__")
            else:
                if shown((given | kept).get(other, value)) != shown(value):
                    complete = False
                    remedy = f"{other} is given too"
                kept.setdefault(other, value)
        if remedy is None:
            lost.append(name)
            remedy = _listed(known)
        # a remedy may be another call
        elif re.search(r"\bha(s|ve) |\.\.\.", remedy):
            complete = False
        remedies.setdefault(remedy, []).append(name)
    return _Repair(kept, remedies, lost, around, complete)


def _same(label, key, kernel, known, guess):
    """Return the known name of the same meaning, the function of its value, and a remedy; or None."""
    for each in (f"{label.lower()}.{key}", f"{kernel}.{key}", key):
        if each in _SAME and _SAME[each][0] in known:
            return _SAME[each]
    groups = [group for group in _GROUPS if key in map(_plain, group)]
    other = next((each for group in groups for each in group if each in known), None)
    if other is None and guess:
        spelled = {_plain(each): each for each in known}
        begun = [each for each in spelled if each.startswith(key) and len(key) > 2]
        other = spelled.get(begun[0] if len(begun) == 1 else _near(key, spelled, 0.75))
    return other and (other, lambda value: value, f"use {other}")


def _fault(function, values):
    """Return why a class refuses values; empty if it does not."""
    try:
        if isinstance(function, type):
            function(**values)
        if hasattr(function, "fit"):
            sys.modules["mercer.kernels.shorthand"].as_kernel(values.get("kernel", "rbf"))
    except (TypeError, ValueError) as error:
        return str(error).removesuffix(".")
    return ""


def _own_kernel(name, value):
    """Return the name here, or the kernel, for a kernel's name in another library; other arguments as they are."""
    named = "kernel" in name.lower() and isinstance(value, str) and kernel_named(value)
    return value if isinstance(named, type) else named or value


def kernel_named(name: str) -> Any:
    """Return the name here, or the kernel, for the name of a kernel in another library; None if unknown.

    It is the class of a kernel which has parameters without a default.
    """
    known = _KERNELS_ELSEWHERE.get(name.lower(), name.lower())
    if known in _KERNELS:
        return known
    found: Any = sys.modules["mercer"]
    for part in (use_of(name, "mercer.kernels") or "").partition(",")[0].split(".")[1:]:
        found = getattr(found, part, None)
    try:
        return found() if hasattr(found, "vjp") else None
    except TypeError:
        return found


def _plain(name):
    """Return a name without case and underscores."""
    return name.lower().replace("_", "")


def _written(path, texts, params):
    """Return the text of a call."""
    given = [*texts, *(f"{name}={_text(value, name)}" for name, value in params.items())]
    return f"{path}({', '.join(given)})"


def _text(value, name):
    """Return an argument as it is typed, or the name of a variable for models and data."""
    if name == "kernel" and isinstance(value, Real):
        return f"mercer.Gaussian({value})"
    text = shown(value)
    if hasattr(value, "vjp"):
        return text.replace(type(value).__name__, _public(type(value)), 1)
    data = hasattr(value, "shape") or hasattr(value, "fit") or text.endswith(("...", ")]"))
    return name if data else text


def _public(each):
    """Return the shortest public path of a class or function."""
    name = each.__name__
    for part in ("mercer", *(f"mercer.{part}" for part in each.__module__.split("."))):
        found = vars(sys.modules.get(part, object)).get(name)
        if getattr(found, "__module__", None) == each.__module__:
            return f"{part}.{name}"
    return name


# --- names -----------------------------------------------------------------------------------------------------------

# What to use for names of other libraries, and for names that are elsewhere.
_INSTEAD = {
    "to_onnx": "mercer.formats.to_onnx(model), and for a file onnx.save(mercer.formats.to_onnx(model), path)",
    "CalibratedClassifierCV": "mercer.SVCCV(calibration='sigmoid'), or sklearn.calibration.CalibratedClassifierCV",
    "Conformal": "mercer.Rescaled",
    "ConstantKernel": "a number, as in 2.0 * mercer.Gaussian(0.5) + 1.0",
    "DMatrix": "arrays, as in mercer.SVC().fit(X, y)",
    "DTW": "mercer.sequences.GlobalAlignment",
    "DotProduct": "mercer.Linear() + sigma_0**2",
    "ExpSineSquared": "mercer.Periodic(period, length)",
    "GaussianProcessClassifier": "mercer.SVCCV(calibration='sigmoid')",
    "GaussianProcessRegressor": "mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')",
    "GridSearchCV": "mercer.SVCCV(Cs=10, gammas=5), or sklearn.model_selection.GridSearchCV",
    "KPCA": "mercer.KernelPCA(n_components, kernel='rbf')",
    "KernelKMeans": "mercer.Kernelized(sklearn.cluster.KMeans(3), kernel='rbf')",
    "Levenshtein": "mercer.strings.Subsequence, or Mismatch",
    "LinearSVC": "mercer.SVC(kernel='linear')",
    "LinearSVR": "mercer.SVR(kernel='linear')",
    "PCA": "mercer.KernelPCA(n_components, kernel='linear'), or sklearn.decomposition.PCA",
    "RBF": f"mercer.Gaussian(1 / (2 * length_scale**2)){_SCALES.format('length_scale')}",
    "RBFSampler": "mercer.maps.random_fourier(mercer.Gaussian(gamma), n_features_in, m), a function that returns 2 m "
    "features, or mercer.Nystroem(n_components=100, gamma=gamma)",
    "SVM": "mercer.SVC() to classify, mercer.SVR() for regression",
    "ScaleKernel": "a factor, as in 2.0 * mercer.Gaussian(0.5), the kernel RBF of length scale 1; mercer.learn_scales "
    "and mercer.Mapped(mercer.Gaussian(0.5), 1 / length_scales) have a scale for each column",
    "WL": "mercer.graphs.WeisfeilerLehman, whose points are networkx.Graph(edges) or mercer.graphs.Graph(adjacency)",
    "WhiteKernel": "alpha of mercer.KernelRidge, the variance of the noise, as in mercer.KernelRidge(alpha=0.1, "
    "kernel=mercer.Gaussian(0.5)), and no term of the kernel",
    "kernel": "a kernel, such as mercer.Gaussian(0.1)",
    "linear_kernel": "mercer.Linear()(X, Z)",
    "pairwise_kernels": "a kernel as a function, mercer.Gaussian(gamma)(X, Z)",
    "rbf_kernel": "mercer.Gaussian(gamma)(X, Z)",
    "decomposition": "mercer.KernelPCA, or sklearn.decomposition",
    "gaussian_process": "mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood') for GaussianProcessRegressor, "
    "mercer.SVCCV(calibration='sigmoid') for GaussianProcessClassifier, mercer.Gaussian(1 / (2 * length_scale**2)) for "
    "RBF, a number for ConstantKernel, alpha of KernelRidge for WhiteKernel",
    "kernel_approximation": "mercer.Nystroem, and for RBFSampler mercer.maps.random_fourier(mercer.Gaussian(gamma), "
    "n_features_in, m)",
    "kernel_ridge": "mercer.KernelRidge",
    "metrics": "sklearn.metrics for scores, and kernels as functions, such as mercer.Gaussian(gamma)(X, Z) for "
    "rbf_kernel(X, Z, gamma)",
    "svm": "mercer.SVC, mercer.SVR, mercer.NuSVC, mercer.NuSVR, mercer.OneClassSVM, for LinearSVC "
    "mercer.SVC(kernel='linear'), for LinearSVR mercer.SVR(kernel='linear')",
    "svm_train": "mercer.SVC(C=1.0, kernel='rbf', gamma=0.1).fit(X, y)",
}
# What to use for names that begin so.
_BEGINNINGS = {
    "dump|pickle|save|store|write": "mercer.save(model, path), and mercer.load(path) to read it",
    "load|read|restore": "mercer.load(path)",
    "convert|export|to_": "mercer.formats.to_onnx, to_c or write_libsvm, as in "
    "onnx.save(mercer.formats.to_onnx(model), path), or mercer.save(model, path)",
}
# Other names of these.
_SYNONYMS = _inverse(
    {
        "GaussianProcessRegressor": "GPR GaussianProcess",
        "KernelKMeans": "KMeans",
        "KernelRidge": "LSSVM",
        "RBFSampler": "RandomFourierFeatures",
        "SVC": "SupportVectorClassifier",
        "SVM": "KernelSVM SVM_RBF SupportVectorMachine fit ksvm train",
        "SVR": "SupportVectorRegressor",
        "kernel": "get_kernel",
        "metrics": "pairwise",
    }
)
# Attributes and methods of other libraries, and what has the same here; first those of one class.
_ATTRIBUTES = {
    "KernelPCA.alphas_": "eigenvectors_",
    "KernelPCA.components_": "expansion_, the components as vectors of the feature space",
    "KernelPCA.explained_variance_": "eigenvalues_ / (n - 1), or explained_variance_ratio_",
    "KernelPCA.lambdas_": "eigenvalues_",
    "KernelPCA.predict": "transform, and an estimator after it, as in make_pipeline(mercer.KernelPCA(2), mercer.SVC())",
    "KernelPCA.score": "residual(X), or an estimator after it, as in make_pipeline(mercer.KernelPCA(2), mercer.SVC())",
    "KernelRidge.coef_": "dual_coef_, or expansion_",
    "OneClassSVM.predict_proba": "score_samples(X) or decision_function(X)",
    "alpha_": "dual_coef_, the coefficients of the support vectors times their labels",
    "alphas_": "dual_coef_",
    "b": "intercept_",
    "conf_int": "predict_interval(X, confidence=0.9) of mercer.KernelRidge",
    "cuda": "arrays on the device, fit(torch.tensor(X, device='cuda'), y); docs/guide/gpu.md says what runs there",
    "feature_importances_": "sklearn.inspection.permutation_importance(model, X, y), or mercer.learn_scales(k, X, y)",
    "log_marginal_likelihood": "tune='marginal_likelihood', which maximises it",
    "plot": "mercer.plot",
    "predict_interval": "mercer.KernelRidge or mercer.QuantileSVR",
    "predict_proba": "mercer.SVCCV(calibration='sigmoid'), or sklearn.calibration.CalibratedClassifierCV(model)",
    "predict_log_proba": "numpy.log of predict_proba(X) of mercer.SVCCV(calibration='sigmoid')",
    "resid": "loo_residuals_ of mercer.KernelRidge, or y - model.predict(X)",
    "summary": "score(X, y), or mercer.certify(model, X, y)",
    "rho": "intercept_, which has the other sign",
    "sv": "support_vectors_",
    "w": "coef_, for kernel='linear', or expansion_",
}
_ATTRIBUTES |= {
    other: _ATTRIBUTES[name]
    for other, name in _inverse({"cuda": "to gpu", "resid": "residuals", "w": "coefs_"}).items()
}
# Modules of public names, the first one for a name that several have.
_MODULES = [
    f"mercer{each}"
    for each in (
        "",
        ".kernels",
        ".strings",
        ".graphs",
        ".sets",
        ".sequences",
        ".formats",
        ".maps",
        ".capacity",
        ".learning",
        ".reduction",
        ".preimages",
        ".manifold",
        ".invariance",
    )
]


class _Text(functools.partial[str]):
    """Text that is composed when it is shown: nobody reads the errors that ``hasattr`` meets."""

    def __str__(self) -> str:
        return self()


class _Missing:
    """The last finder of modules: the error of a module that Mercer does not have says where its names are."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Raise for modules of Mercer, which no finder before has found, where a statement imports them."""
        # who asks for the spec alone, as importlib.util.find_spec and pytest do, wants None
        statement = sys._getframe(2).f_code.co_name == "_find_and_load_unlocked"  # noqa: SLF001
        if statement and name.startswith("mercer."):
            part = name.rpartition(".")[2]
            use = use_of(part, "mercer")
            raise ModuleNotFoundError(
                f"No module named {name!r}; names of Mercer are in mercer itself: write from mercer import SVC, "
                f"KernelPCA, Gaussian, ...{f'; for {part} use {use}' if use else ''}",
                name=name,
            )


sys.meta_path.append(_Missing)


def explain_names(module: str) -> None:
    """Let the errors of unknown names of a module, and of wrong calls of its functions, say what to write."""
    names = vars(sys.modules[module])
    names.setdefault("__getattr__", functools.partial(refuse_name, module))
    for name in names["__all__"]:
        function = names.get(name)
        if inspect.isfunction(function) and not hasattr(function, "__wrapped__"):
            # pickle looks there, and other modules may list the function too
            home = vars(sys.modules[function.__module__])
            if home[name] is function:
                home[name] = explained(function)
            names[name] = home[name]


def refuse_name(module: str, name: str, depth: int = 1) -> NoReturn:
    """Raise the error of an unknown name of a module, which is asked for ``depth`` calls away."""
    text = _Text(_name_of_module, module, name)
    frame = sys._getframe(depth)  # noqa: SLF001 - the instruction tells an import from other uses
    if frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]:
        # the statement would drop the text of an AttributeError
        names = next(
            each for each in frame.f_code.co_consts if type(each) is tuple and name in each
        )
        missing = [each for each in names if not hasattr(sys.modules[module], each)]
        text = "; ".join(_name_of_module(module, each) for each in missing)
        raise ImportError(text, name=module)
    # Python adds names of similar spelling unless the name is None
    raise AttributeError(text, name=None)


def refuse_attribute(each: object, name: str) -> NoReturn:
    """Raise the error of an attribute that a model or a kernel lacks."""
    raise AttributeError(_Text(_name_of_object, type(each), name), name=None) from None


def use_of(name: str, module: str) -> str | None:
    """Return what has the use of a name of another library, or of a wrong spelling, first of names of a module."""
    paths = {}
    for each in dict.fromkeys((module, *_MODULES)):
        for known in import_module(each).__all__:
            path = f"mercer.{known}" if known in vars(sys.modules["mercer"]) else f"{each}.{known}"
            paths = {known: path, _plain(known): path, _folded(known): path} | paths
    name = _SYNONYMS.get(name, name)
    key = _folded(name)
    # classes, which are first, before functions
    instead = {_folded(each): use for each, use in reversed(_INSTEAD.items())} | _INSTEAD
    own = {_folded(each) for each in import_module(module).__all__}
    return (
        instead.get(name)
        or paths.get(_plain(name))
        or instead.get(key)
        or paths.get(key if key in own else name)
        or _in_sklearn(name)
        or paths.get(key)
        or paths.get(_near(key, own, 0.75))
    )


def _name_of_module(module, name):
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    use = use_of(name, module)
    return f"{text}; {f'use {use}' if use else _listed(import_module(module).__all__)}"


def _name_of_object(cls, name):
    text = f"{cls.__name__} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    if not hasattr(cls, "fit"):
        known = [*cls.__match_args__, "diag", "get_params", "resolve", "tags", "vjp"]
        return f"{text}; its values are kernel(X, Z); {_listed(known)}"
    names = _attributes(cls)
    if name in names:
        return f"{text} yet; call fit, with the parameters that it needs"
    own = {_folded(each): each for each in names}
    uses = own | {_folded(each): use for each, use in _ATTRIBUTES.items()}
    key = _folded(name)
    use = uses.get(_folded(f"{cls.__name__}.{name}")) or uses.get(key)
    if _holders(name) and not use:
        return f"{text}; {_holders(name)}"
    use = use or _in_sklearn(name) or own.get(_near(key, own, 0.7))
    return f"{text}; {f'use {use}' if use else _listed(names)}"


def _listed(names):
    return f"it has {', '.join(dict.fromkeys(names)) or 'none'}"


def _holders(name):
    """Return which estimators have a parameter, method or attribute; empty if none has."""
    estimators = vars(sys.modules["mercer.estimators"]).items()
    have = [each for each, cls in estimators if isinstance(cls, type) and name in _attributes(cls)]
    return f"{', '.join(have)} {'have' if have[1:] else 'has'} it" if have else ""


def _attributes(cls):
    """Return the names with an underscore at their end of the docstring of a class, and its methods."""
    documented = re.findall(r"\b[a-zA-Z]\w+_\b", cls.__doc__ or "")
    return [*documented, *(each for each in dir(cls) if not each.startswith(("_", "set_", "get_")))]


def _folded(name):
    """Return a name without case, underscores and words that libraries add."""
    return re.sub("kernel|regression|_", "", name.lower())


def _near(key, known, cutoff):
    """Return the known name of nearest spelling, or None."""
    return next(iter(difflib.get_close_matches(key, known, 1, cutoff)), None)


def _in_sklearn(name):
    """Return the path of a public name of scikit-learn, or what has the use of names that begin so, or None."""
    if name in sklearn.__all__:
        return f"sklearn.{name}"
    for path in [f"sklearn.{each}" for each in sklearn.__all__]:
        if find_spec(path) and name in getattr(import_module(path), "__all__", ()):
            return f"{path}.{name}"
    return next((use for begun, use in _BEGINNINGS.items() if re.match(begun, name)), None)
