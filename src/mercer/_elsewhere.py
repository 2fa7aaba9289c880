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
from typing import Any, NoReturn, ParamSpec, TypeVar

import sklearn
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from mercer._common import shown

_P = ParamSpec("_P")
_R = TypeVar("_R")
# Names of kernels that estimators take.
_KERNELS = {*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}

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
    "param_grid": "give the values as Cs=[...] and gammas=[...]",
    "optimizer": "tune='marginal_likelihood' or 'loo' chooses the parameters of the kernel and alpha",
    "n_restarts_optimizer": "tune='marginal_likelihood' or 'loo' chooses the parameters of the kernel and alpha",
}
# Remedies of arguments of any call.
_OF_CALLS = {
    "alpha": "compare the pvalue of the result with it",
    "label": "fit(X, y) takes it",
    "target": "fit(X, y) takes it",
    **dict.fromkeys(
        ("device", "gpu_id", "use_gpu"),
        "give arrays of the device; docs/guide/gpu.md says what runs there",
    ),
    "return_interval": "mercer.KernelRidge() has predict_interval(X, confidence=0.9)",
    "return_std": "mercer.KernelRidge() has predict(X, return_std=True)",
    "verbose": REMEDIES["verbose"],
}


_KERNLAB = ", or gamma = sigma where the kernel is exp(-sigma |x - z|^2), as in kernlab"
# Parameters of the same meaning, with the value that they have and a remedy.
_SAME: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "C": (
        "Cs",
        lambda value: value if isinstance(value, (list, tuple)) else [value],
        "give Cs, the values to try",
    ),
    "KernelRidge.C": ("alpha", lambda value: 1 / (2 * value), "give alpha = 1 / (2 C)"),
    "Laplacian.sigma": ("gamma", lambda value: 1 / value, "give gamma = 1 / sigma"),
    "alpha": ("confidence", lambda value: 1 - value, "use confidence"),
    "cache_size": ("memory", lambda value: f"{value}MB", REMEDIES["cache_size"]),
} | {
    name: (
        "gamma",
        lambda value: float(f"{1 / (2 * value**2):.12g}"),
        f"give gamma = 1 / (2 {name}^2) for a standard deviation{_KERNLAB if name == 'sigma' else ''}",
    )
    for name in ("sigma", "length", "length_scale", "lengthscale", "bandwidth")
}
# Names of one meaning and one value; others are found by their spelling.
_GROUPS = [
    names.split()
    for names in (
        "C cost",
        "alpha lambda_ lam noise reg regularization ridge",
        "nu contamination outliers",
        "quantile q quantiles tau alpha",
        "n_vectors n k size n_components vectors",
        "n_components k d n dim",
        "iterations h n_iter depth",
        "length k n p sigma length_scale lengthscale bandwidth",
        "mismatches m",
        "sample_weight weights weight w",
        "n_permutations nboot n_resamples B",
        "degree d p power order",
        "confidence level coverage",
        "X data",
        "y target targets label labels",
        "path filename file fname",
        "n n_samples",
        "d n_features",
    )
]
# Estimators of scikit-learn around the call, for arguments that are true.
_AROUND = {
    "probability": "sklearn.calibration.CalibratedClassifierCV({})",
    "normalize_y": "sklearn.compose.TransformedTargetRegressor({}, transformer=sklearn.preprocessing.StandardScaler())",
}


def refuse_unknown(cls: type[Any], values: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Raise a TypeError for arguments of an estimator that are no parameters, or stand in the place of another one."""
    first = cls.__match_args__[:1]
    if len(values) > 1 or (values and (first == ("kernel",) or not isinstance(values[0], Real))):
        _refuse_misplaced(cls, values, params)
    if not params.keys() <= cls.__dataclass_fields__.keys():
        refuse_call(cls, values, params)


def _refuse_misplaced(cls, values, params):
    """Raise a TypeError for arguments of an estimator without a name that are data, or a kernel in another place."""
    if any(getattr(value, "ndim", 0) == 2 for value in values):
        call = _written(_public(cls), [], params)
        raise TypeError(
            f"{cls.__name__} takes parameters, and its fit the data: write {call}.fit(X, y)."
        )
    known = inspect.signature(cls).parameters
    names = [name for name, each in known.items() if each.kind is not each.KEYWORD_ONLY]
    others = (name for name in (*names, "n_components", "Cs") if name in known and name != "kernel")
    placed = {}
    for value in values:
        kind = isinstance(value, str) or (callable(value) and not hasattr(value, "fit"))
        kernel = kind and (names[0] == "kernel" or hasattr(value, "vjp") or value in _KERNELS)
        placed["kernel" if kernel else next(others, "kernel")] = value
    if "kernel" in known and placed != dict(zip(names, values, strict=False)):
        call = _written(_public(cls), [], placed | params)
        raise TypeError(f"{cls.__name__} takes {' and '.join(names)} without a name: write {call}.")


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
    known = inspect.signature(function).parameters
    try:
        inspect.signature(function).bind(*values, **params)
        return
    except TypeError as error:
        reason = str(error)
    given = dict(zip(known, values, strict=False))
    model = given.pop("self", None)
    names = [name for name in known if name != "self"]
    label = function.__name__ if model is None else f"{type(model).__name__}.{function.__name__}"
    path = _public(function) if model is None else function.__name__
    own = getattr(type(model), "_get_param_names", list)()
    remedies = dict.fromkeys(own, "it is a parameter of the estimator") | _OF_CALLS
    if isinstance(function, type):
        have = {name: _holders(name) for name in params if hasattr(function, "fit")}
        remedies = {name: text for name, text in have.items() if text} | _OF_CALLS | REMEDIES
        names.sort()
    kept, found, lost = _translated(label, params, names, remedies)
    texts = [_text(value, name) for name, value in given.items()]
    texts += [
        name
        for name, each in known.items()
        if each.default is each.empty and name in names and name not in given and name not in kept
    ]
    around = next((_AROUND[name] for name in params if name in _AROUND and params[name]), "{}")
    call = around.format(_written(path, texts, kept))
    without = f"without {' and '.join(lost)} " if lost else ""
    # some remedies are what to write
    written = "" if re.search(r"ha(s|ve) it|\.\.\.", "".join(found)) else f": {without}write {call}"
    said = (
        f"has no parameter {', nor '.join(found)}"
        if found
        else f"takes ({', '.join(names)}): {reason}"
    )
    raise TypeError(f"{label} {said}{written}.") from None


def _translated(label, params, known, remedies):
    """Return arguments that are known or mean the same as known ones, what to do with the others, and those lost."""
    kept = {name: value for name, value in params.items() if name in known}
    found = []
    lost = []
    for name in [name for name in params if name not in known]:
        other, convert, remedy = _SAME.get(f"{label}.{name}") or _SAME.get(name, ("", None, ""))
        if other not in known:
            group = [each for names in _GROUPS if name in names for each in names if each in known]
            spelled = {} if name in remedies else {each.lower(): each for each in known}
            other = group[0] if group else spelled.get(_near(name.lower(), spelled, 0.6))
            convert = None
            remedy = f"use {other}"
        if other is None or other in kept:
            remedy = remedies.get(name)
            if remedy is None:
                lost.append(name)
                remedy = _listed(known)
        else:
            kept[other] = convert(params[name]) if convert else params[name]
        found.append(f"{name}; {remedy}")
    return kept, found, lost


def _written(path, texts, params):
    """Return the text of a call."""
    given = [*texts, *(f"{name}={_text(value, name)}" for name, value in params.items())]
    return f"{path}({', '.join(given)})"


def _text(value, name):
    """Return an argument as it is typed, or the name of a variable for models and data."""
    text = shown(value)
    if hasattr(value, "vjp"):
        return text.replace(type(value).__name__, _public(type(value)), 1)
    data = hasattr(value, "shape") or hasattr(value, "fit") or text.endswith("...")
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
    "RBF": "mercer.Gaussian(1 / (2 * length_scale**2))",
    "RBFSampler": "mercer.maps.random_fourier",
    "SVM": "mercer.SVC() to classify, mercer.SVR() for regression",
    "ScaleKernel": "a factor, as in 2.0 * mercer.Gaussian(0.5)",
    "WL": "mercer.graphs.WeisfeilerLehman",
    "WhiteKernel": "alpha of mercer.KernelRidge, the variance of the noise",
    "dump": "mercer.save(model, path)",
    "kernel": "a kernel, such as mercer.Gaussian(0.1)",
    "linear_kernel": "mercer.Linear()(X, Z)",
    "pairwise_kernels": "a kernel as a function, mercer.Gaussian(gamma)(X, Z)",
    "rbf_kernel": "mercer.Gaussian(gamma)(X, Z)",
    "svm": "mercer.SVC, mercer.SVR, ..., which are names of mercer itself",
    "svm_train": "mercer.SVC(C=1.0, kernel='rbf', gamma=0.1).fit(X, y)",
    "to_pmml": "mercer.formats.to_onnx, to_c or write_libsvm",
}
# Other names of these.
_SYNONYMS = {
    "GPR": "GaussianProcessRegressor",
    "GaussianProcess": "GaussianProcessRegressor",
    "KMeans": "KernelKMeans",
    "KernelSVM": "SVM",
    "LSSVM": "KernelRidge",
    "RandomFourierFeatures": "RBFSampler",
    "SVM_RBF": "SVM",
    "SupportVectorClassifier": "SVC",
    "SupportVectorMachine": "SVM",
    "SupportVectorRegressor": "SVR",
    "fit": "SVM",
    "get_kernel": "kernel",
    "ksvm": "SVM",
    "to_coreml": "to_pmml",
    "to_tflite": "to_pmml",
    "train": "SVM",
}
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
    "save": "mercer.save(model, path)",
    "summary": "score(X, y), or mercer.certify(model, X, y)",
    "w": "coef_, for kernel='linear', or expansion_",
}
_ATTRIBUTES |= {
    other: _ATTRIBUTES[name]
    for other, name in {"to": "cuda", "gpu": "cuda", "residuals": "resid", "coefs_": "w"}.items()
}
# Modules of public names, the first one for a name that several have.
_MODULES = [
    "mercer",
    *(
        f"mercer.{each}"
        for each in (
            "kernels",
            "strings",
            "graphs",
            "sets",
            "sequences",
            "formats",
            "maps",
            "capacity",
            "learning",
            "reduction",
            "preimages",
            "manifold",
            "invariance",
        )
    ),
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
            raise ModuleNotFoundError(
                f"No module named {name!r}; names of Mercer are in mercer itself: write from mercer import SVC, "
                "KernelPCA, Gaussian, ...",
                name=name,
            )


sys.meta_path.append(_Missing)


def explain_names(module: str) -> None:
    """Let the errors of unknown names of a module say what has their use."""
    vars(sys.modules[module])["__getattr__"] = functools.partial(refuse_name, module)


def refuse_name(module: str, name: str, depth: int = 1) -> NoReturn:
    """Raise the error of an unknown name of a module, which is asked for ``depth`` calls away."""
    text = _Text(_name_of_module, module, name)
    frame = sys._getframe(depth)  # noqa: SLF001 - the instruction tells an import from other uses
    if frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]:
        # the statement would drop the text of an AttributeError
        raise ImportError(str(text), name=module)
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
            paths = {known: path, _folded(known): path} | paths
    name = _SYNONYMS.get(name, name)
    key = _folded(name)
    instead = {_folded(each): use for each, use in _INSTEAD.items()} | _INSTEAD
    own = {_folded(each) for each in import_module(module).__all__}
    return (
        instead.get(name)
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
    """Return the path of a public name of scikit-learn, or None."""
    if name in sklearn.__all__:
        return f"sklearn.{name}"
    for path in [f"sklearn.{each}" for each in sklearn.__all__]:
        if find_spec(path) and name in getattr(import_module(path), "__all__", ()):
            return f"{path}.{name}"
    return None
