"""Names of other libraries, and other spellings: errors of unknown names and arguments say what to write instead."""

import difflib
import functools
import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from dis import opmap
from importlib import import_module
from importlib.util import find_spec
from numbers import Real
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar
from weakref import WeakSet

import sklearn
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from mercer._common import shown

_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound=type[Any])


def _table(text):
    """Return what follows the colon in the lines of a text, for each of the words before it."""
    lines = (line.partition(": ") for line in text.splitlines())
    return {word: value for words, _, value in lines for word in words.split()}


# Names of kernels in other libraries, and those that estimators take.
_KERNELS_ELSEWHERE = _table("""
exponential laplace laplacedot: laplacian
lin vanilladot: linear
polydot: poly
gauss gaussian radial rbfdot se squared_exponential: rbf
hyperbolic tanh tanhdot: sigmoid
""")

# --- parameters ------------------------------------------------------------------------------------------------------

# The remedy follows "SVC has no parameter nu; ". One with "..." holds what to write; the others say to leave it out.
REMEDIES = _table("""
C: SVC, SVR, NuSVR and SVDD have it; NuSVC and OneClassSVM have nu, KernelRidge has alpha
nu: NuSVC, NuSVR and OneClassSVM have it; SVDD(C=1 / (nu * n)) leaves at most the share nu of n points outside
kernel_params: they belong to the kernel: kernel=mercer.Gaussian(gamma=...), or a function of two blocks
probability: use mercer.SVCCV(calibration='sigmoid') or sklearn.calibration.CalibratedClassifierCV
cache_size: use memory, which bounds the kernel values that are kept
shrinking: leave it out; the solver decides
fit_inverse_transform: leave it out; inverse_transform needs no preparation, and preimage= chooses its method
alpha: C regularises an SVC; in KernelPCA, preimage=mercer.Learned(ridge=...) inverts by ridge
eigen_solver iterated_power: leave it out; the number of rows and components decides
remove_zero_eig: leave it out; eigenvalues that are rounding are always removed
tol max_iter: leave it out; the fit ends at the accuracy that mercer.certify recomputes
random_state: leave it out; the fit draws no random numbers
copy_X: leave it out; rows are never changed
n_jobs: set OMP_NUM_THREADS or use joblib's or threadpoolctl's limits; all processors are used by default
verbose: use scikit-learn's callbacks (set_callbacks), or logging.getLogger('mercer')
normalize_y: another estimator scales the targets
param_grid: give the values as Cs and gammas
optimizer n_restarts_optimizer: tune='marginal_likelihood' or 'loo' chooses the parameters of the kernel and alpha \
of mercer.KernelRidge
""")
# The same for arguments of any call, of one function, or of kernels.
_OF_CALLS = _table("""
mmd_test.alpha hsic_test.alpha ksd_test.alpha: compare the pvalue of the result with it
combine.weights: a sum has given weights, such as 0.3 * mercer.Gaussian(0.5) + 0.7 * mercer.Linear()
label target: fit(X, y) takes it
loss: leave it out; it is the hinge for SVC, squares for KernelRidge
contamination outlier_fraction outliers_fraction: OneClassSVM has nu; SVDD(C=1 / (nu * n)) leaves at most the \
share nu of n points outside
preimage.niter preimage.maxiter preimage.tol: method=mercer.FixedPoint(max_iter=100, tol=1e-6) takes it
cat_features categorical_feature categorical_features: columns of texts, of booleans and of dtype category are taken \
as categories
device gpu_id use_gpu: give arrays on the device, fit(torch.tensor(X, device='cuda'), y); docs/guide/gpu.md says \
what runs there
proba: mercer.SVCCV(calibration='sigmoid') has predict_proba(X)
return_interval: mercer.KernelRidge() has predict_interval(X, confidence=0.9)
return_std: mercer.SVCCV(calibration='sigmoid') has predict_proba(X) for classes, and for numbers \
mercer.KernelRidge() has predict(X, return_std=True)
kernel.label kernel.labels kernel.nodelabel kernel.nodelabels: labels of nodes are their attribute 'label' in \
networkx, or labels of mercer.graphs.Graph
""")


def _gamma(width, factor=2, power=2):
    """Return gamma = 1 / (factor width^power), a rule for a rule."""
    if isinstance(width, str):
        return width if width == "median" else "scale"
    return float(f"{1 / (factor * width**power):.12g}")


# Parameters of the same meaning, with the function of their value and a remedy; also those of a class or kernel.
_SAME: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "c": (
        "Cs",
        lambda value: value if hasattr(value, "__len__") else [value],
        "give Cs, the values to try",
    ),
    "kernelridge.c": ("alpha", lambda value: 1 / (2 * value), "give alpha = 1 / (2 C)"),
    "alpha": ("confidence", lambda value: round(1 - value, 12), "use confidence"),
    "cachesize": (
        "memory",
        lambda value: value if isinstance(value, str) else f"{value}MB",
        REMEDIES["cache_size"],
    ),
    "matern.gamma": (
        "length",
        lambda value: float(f"{(2 * value) ** -0.5:.12g}"),
        "give length = 1 / sqrt(2 gamma)",
    ),
    "kernelscale": ("gamma", functools.partial(_gamma, factor=1), "give gamma = 1 / {}^2"),
    **dict.fromkeys(
        ("optimizer", "nrestartsoptimizer"),
        ("tune", lambda value: "marginal_likelihood" if value else None, REMEDIES["optimizer"]),
    ),
}
_rule = "give gamma = 1 / (2 {}^2) for a standard deviation"
_scale = functools.partial(_gamma, factor=1, power=1)
for _width in ("sigma", "length", "lengthscale", "bandwidth", "width", "kernelwidth"):
    _SAME[f"laplacian.{_width}"] = ("gamma", _scale, "give gamma = 1 / {}")
    _SAME[_width] = ("gamma", _gamma, _rule)
_rule += ", or gamma = sigma where the kernel is exp(-sigma |x - z|^2), as in kernlab"
_SAME["sigma"] = ("gamma", _gamma, _rule)
# Names of one meaning and one value, also those of a class; others are found by their spelling.
_GROUPS = [
    names.split()
    for names in """n_components Nystroem.n_landmarks
gamma kernel_gamma Sigmoid.alpha
landmarks n_landmarks n_components
C cost box_constraint regularization
epsilon tube insensitivity
coef0 bias offset Polynomial.c Sigmoid.c
cv folds n_folds n_splits
max_loss max_error
period periodicity
random_state seed
Z Y
alpha lambda lam l2 noise noise_variance noise_level reg reg_lambda regularization ridge weight_decay
nu contamination outliers outlier_fraction outliers_fraction
decay lambda lam
quantile q quantiles tau alpha
n_vectors n k size n_components vectors ratio n_landmarks to budget n_sv max_sv
n_components n_comps n_landmarks n_features features k d n dim
iterations h n_iter depth
length k n p sigma length_scale bandwidth scale
mismatches m
sample_weight weights weight w
n_permutations nboot n_resamples B
kernel kernel_function
degree kernel_degree d p power order polynomial_order
confidence level coverage
X data
y target targets label labels
path filename file fname
n n_samples""".splitlines()
]
# Calls around a call, and an argument that they stand for.
_AROUND = _table("""
estimator.probability: sklearn.calibration.CalibratedClassifierCV({})
estimator.normalizey: sklearn.compose.TransformedTargetRegressor({}, \
transformer=sklearn.preprocessing.StandardScaler())
estimator.standardize estimator.scale estimator.normalize: sklearn.pipeline.make_pipeline(\
sklearn.preprocessing.StandardScaler(), {})
kernel.activedims: mercer.Mapped({}, numpy.r_[{}])
kernel.normalize: mercer.Normalized({})
kernel.variance: {1} * {0}
""")
# Keys of dicts of parameters, as kernlab has them.
_KEYS = _table("""
sigma scale: gamma
offset: coef0
""")
_SCALES = (
    "a scale for each column is mercer.Mapped(mercer.Gaussian(0.5), 1 / numpy.array({})), and mercer.learn_scales "
    "finds it"
)
_OF_CALLS |= {"kernel.ard": _SCALES.format("length_scales"), "verbose": REMEDIES["verbose"]}
# Ends of the errors of functions.
_NOTES = _table("""
combine: ; models are combined by VotingClassifier and StackingClassifier of sklearn.ensemble
patch_sklearn: ; it patches SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelPCA, KernelRidge and Nystroem at once; for \
LinearSVC use SVC(kernel='linear')
predict: ; score(X, y) compares with y
Gaussian: ; a variance is a factor, as in 2.0 * mercer.Gaussian(0.5)
save: ; one file holds one model
""")
# Functions whose wrong calls are explained.
_EXPLAINED: WeakSet[Any] = WeakSet()
# Values of parameters that hold features, and names of data, as they are typed.
_FEATURES = {"phi": "X", "psi": "X", "chi": "Z"}
_DATA = set("XYZy")


class _Repair(NamedTuple):
    """A call: its arguments, remedies of others, those without one, calls around it, whether nothing is left out."""

    kept: dict[str, Any]
    remedies: dict[str, list[str]]
    lost: list[str]
    around: str
    complete: bool


def refuse_unknown(cls: type[Any], values: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Raise a TypeError for arguments of an estimator that are no parameters, or stand in the place of another one."""
    if values:
        _refuse_misplaced(cls, values, params)
    known = cls.__dataclass_fields__.keys() - {*cls.__match_args__[: len(values)]}
    if len(values) > len(cls.__match_args__) or not params.keys() <= known:
        refuse_call(cls, values, params)


def _refuse_misplaced(cls, values, params):
    """Raise a TypeError for arguments of an estimator without a name that are data, or a kernel in another place."""
    said = f"{cls.__name__} takes parameters"
    if any(getattr(value, "ndim", 0) == 2 for value in values):
        _refuse(cls, {}, params, said=f"{said}, and its fit the data", around="{}.fit(X, y)")
    if isinstance(values[0], str) and values[0].startswith("-"):
        raise TypeError(
            f"{said}, not options of LIBSVM: write C for -c, gamma for -g, epsilon for -p, nu for -n, degree for -d, "
            "coef0 for -r, tol for -e, memory for -m, and kernel='linear', 'poly', 'rbf' or 'sigmoid' for -t 0, 1, 2 "
            "or 3, as in mercer.SVR(kernel='rbf', C=10, epsilon=0.1)."
        )
    known = cls.__dataclass_fields__
    names = cls.__match_args__
    others = dict.fromkeys((*names, "n_components", "Cs", "C"))
    others = [name for name in others if name in known and name != "kernel"]
    others = iter(others or known.keys() & {"landmarks"})
    placed = {}
    for value in values:
        if isinstance(value, dict) and "Cs" in known:
            refuse_call(cls, (), params | {"param_grid": value})
        kernel = callable(value) and not hasattr(value, "fit")
        if isinstance(value, str):
            kernel = names[0] == "kernel" or kernel_named(value)
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
        except (OSError, TypeError, ValueError) as error:
            refuse_call(function, values, params, error)
            raise

    _EXPLAINED.add(called)
    return called


def refuse_call(
    function: Callable[..., Any],
    values: tuple[Any, ...],
    params: dict[str, Any],
    error: Exception | None = None,
) -> None:
    """Raise a TypeError that writes a call for arguments that a function, method or class does not have, or lacks.

    Those of a call that raised an error may also stand in the place of others, or be of another kind.
    """
    if function.__name__ == "__init__":
        function = type(values[0])
        values = values[1:]
    signature = inspect.signature(function)
    known = signature.parameters
    name = function.__name__
    if "self" in known and not (values and hasattr(type(values[0]), name)):
        raise TypeError(
            f"{name} is called on the class; make a model of it first: write "
            f"Class().{name}({', '.join(each for each in ('X', 'y') if each in known)})."
        ) from None
    placed = _placed(known, values)
    try:
        given = signature.bind(*values, **params).arguments
    except TypeError as unbound:
        if values and hasattr(function, "vjp") and all(hasattr(each, "shape") for each in values):
            said = f"{name} takes parameters, and the kernel that it makes the points"
            _refuse(function, {}, params, said=said, around="{}.resolve(X)(X)")
        dicts = [each for each in values if isinstance(each, dict)]
        for entries in dicts if name == "set_params" else ():
            params = dict(params, **entries)
        _refuse(function, placed, params, unbound)
    if error is None:
        return
    moved = any(given.get(each, value) is not value for each, value in placed.items())
    # names and matrices may stand in the place of a kernel
    kernel = "kernel" not in known or hasattr(placed.get("kernel"), "vjp")
    if moved and kernel and len(placed) == len(values) and "kernels" not in known:
        _refuse(function, placed, params, said=f"{name} takes ({', '.join(known)}), in this order")
    # an error that begins with a name explains it, and None is no fault
    others = {
        each: given[each] for each in given if each != str(error)[:1] and given[each] is not None
    }
    fault = _fault(None, others) or _shape_fault(name, given)
    said = str(error).removesuffix(".")
    if fault and fault not in said and type(error) in (TypeError, ValueError):
        raise type(error)(f"{said}; {fault}.") from None


def _placed(known, values):
    """Return arguments given by place under the names of parameters of their kind, or in order."""
    # by an attribute that they have
    kinds = {"kernel": "vjp", "model": "fit"}
    found = {"self": values[0]} if values and "self" in known else {}
    others = []
    for value in values[len(found) :]:
        name = next((each for each in kinds if hasattr(value, kinds[each])), None)
        if name in known and name not in found:
            found[name] = value
        elif hasattr(value, "vjp") and "kernels" in known:
            found.setdefault("kernels", []).append(value)
        # features have their kernel
        elif not (hasattr(value, "vjp") and known.keys() & _FEATURES):
            others.append(value)
    for value in others:
        # data are no kernel
        taken = {*found, "kernel"} if hasattr(value, "shape") else found
        name = next((each for each in known if each not in taken), None)
        found |= {name: value}
    return {name: found[name] for name in known if name in found}


def _refuse(function, given, params, reason="", said="", around="{}"):
    """Raise a TypeError that writes a call whose arguments have the meaning of those given by place and by name."""
    known = dict(inspect.signature(function).parameters)
    known.pop("self", None)
    model = given.pop("self", None)
    label = function.__name__ if model is None else f"{type(model).__name__}.{function.__name__}"
    path = _public(function) if model is None else function.__name__
    any_name = [name for name, each in known.items() if each.kind is each.VAR_KEYWORD]
    for name in any_name:
        del known[name]
    names = sorted(known) if isinstance(function, type) else list(known)
    names += params if any_name else ()
    given = {name: _own_kernel(name, value) for name, value in given.items()}
    repair = _repaired(function, model, label, given, params, names)
    values = given | repair.kept
    needed = [name for name, each in known.items() if each.default is each.empty]
    missing = [name for name in needed if name not in values]
    # a function of a fitted model takes X and y of the fit
    if "X" in (needed if "model" in names else missing) and "y" in names:
        missing += {"y"}.difference(values, missing)
    first = {name: given.get(name, ...) for name in known if name in {*given, *missing}}
    texts = []
    for place, (name, value) in enumerate((first | repair.kept | first).items()):
        # those before a gap have no name
        by_place = name in first and list(known)[place] == name
        by_place = by_place and known[name].kind is not known[name].KEYWORD_ONLY
        texts.append(f"{'' if by_place else f'{name}='}{_text(value, name)}")
    call = around.format(repair.around.format(f"{path}({', '.join(texts)})"))
    found = [f"{', '.join(each)}; {remedy}" for remedy, each in repair.remedies.items()]
    if reason and not found:
        said = f"{label} takes ({', '.join(names)}): {reason}{_NOTES.get(function.__name__, '')}"
    unknown = found and f"{label} has no parameter {', nor '.join(found)}"
    text = "; ".join(filter(None, (said, unknown)))
    fault = _fault(None if missing else function, values)
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
    kind = _kind(function)
    found = _OF_CALLS.get(f"{kind}.{_plain(name)}") or _OF_CALLS.get(name)
    if kind == "estimator":
        found = REMEDIES.get(name) or found or _holders(name)
    return found or None


def _kind(function):
    """Return the word for a class of estimators or kernels in tables, or the name of a function."""
    if hasattr(function, "vjp"):
        return "kernel"
    return "estimator" if hasattr(function, "fit") else function.__name__


def _repaired(function, model, label, given, params, known):
    """Return what to write for arguments given by name, beside those given by place."""
    params, dicts = _spread(params, known)
    remedies = {}
    for name in dicts:
        remedies[_remedy(function, model, name) or "its entries are parameters"] = [name]
    params = {name: _own_kernel(name, value) for name, value in params.items()}
    kernels = [each for each in ("kernel", "kernel_x", "kernel_y") if each in known]
    listed = known
    # a kernel has the parameters that a function of it lacks; those of estimators are of kernels given by name
    if hasattr(params.get("kernel"), "vjp"):
        known = [name for name in known if name not in ("gamma", "degree", "coef0")]
    own = _kernel(params.get("kernel", "rbf")).__match_args__ if kernels else ()
    inner = [name for name in own if name not in known]
    known = [*known, *inner]
    taken = {*listed, *inner}
    kept = {
        f"{name}s" if f"{name}s" in known and isinstance(value, list) else name: value
        for name, value in params.items()
        if name in taken
    }
    lost = []
    around = "{}"
    complete = True
    for name, value in params.items():
        if name in taken:
            continue
        remedy = _remedy(function, model, name)
        same = _same(label, _plain(name), kept.get("kernel"), known, remedy is None)
        template = _AROUND.get(f"{_kind(function)}.{_plain(name)}")
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
                remedy += f"; {_SCALES.format(name)}" * hasattr(value, "__len__")
            else:
                if shown((given | kept).get(other, value)) != shown(value):
                    complete = False
                    remedy = f"it means {other}, and {other} is given too"
                kept.setdefault(other, value)
        if remedy is None:
            lost.append(name)
            remedy = _listed(listed)
        # a remedy may be another call
        elif re.search(r"\bha(s|ve) |\.\.\.", remedy):
            complete = False
        remedies.setdefault(remedy, []).append(name)
    own = {name: kept.pop(name) for name in inner if name in kept}
    if own.keys() & params:
        remedies["it belongs to the kernel"] = [name for name in own if name in params]
    for each in kernels if own else ():
        kept[each] = replace(_kernel(kept.get(each, "rbf")), **own)
    return _Repair(kept, remedies, lost, around, complete)


def _same(label, key, kernel, known, guess):
    """Return the known name of the same meaning, the function of its value, and a remedy; or None."""
    keys = (f"{label.lower()}.{key}", f"{kernel}.{key}", key)
    for each in keys:
        if each in _SAME and _SAME[each][0] in known:
            return _SAME[each]
    groups = [group for group in _GROUPS if {*keys}.intersection(map(_plain, group))]
    other = next((each for group in groups for each in group if each in known), None)
    if other is None and guess:
        spelled = {_plain(each): each for each in known}
        begun = [each for each in spelled if each.startswith(key) and len(key) > 2]
        other = spelled.get(begun[0] if len(begun) == 1 else _near(key, spelled, 0.75))
    return other and (other, lambda value: value, f"use {other}")


def _fault(function, values):
    """Return why a class refuses values, or why some are no points; empty if neither."""
    try:
        if isinstance(function, type):
            function(**values)
        if hasattr(function, "fit"):
            sys.modules["mercer.kernels.shorthand"].as_kernel(values.get("kernel", "rbf"))
        for name in sorted(values.keys() & _DATA):
            sys.modules["mercer._compute.readable"].refuse_container(values[name], name)
    except (TypeError, ValueError) as error:
        return str(error).removesuffix(".")
    return ""


def _shape_fault(name, values):
    """Return what to do with points whose shape is that of something else; empty if it is not."""
    X, y = (getattr(values.get(each), "ndim", 0) for each in "Xy")
    if X == 1 and y == 2:
        return "X has one dimension and y two; if they are swapped, give X first"
    if X == 1 and name == "score":
        return (
            "score takes points; of predictions sklearn.metrics.accuracy_score(y, predicted) tells"
        )
    return "X.reshape(len(X), -1) makes a row of each point" * (X > 2)


def _kernel(value):
    """Return the kernel of an argument, that of "rbf" for one that is no kernel."""
    try:
        return sys.modules["mercer.kernels.shorthand"].as_kernel(value)
    except (TypeError, ValueError):
        return _kernel("rbf")


def _own_kernel(name, value):
    """Return the name here, or the kernel, for a kernel's name in another library; other arguments as they are."""
    named = "kernel" in name.lower() and isinstance(value, str) and kernel_named(value)
    return value if isinstance(named, type) else named or value


def kernel_named(name: str) -> Any:
    """Return the name here, or the kernel, for the name of a kernel in another library; None if unknown.

    It is the class of a kernel which has parameters without a default.
    """
    known = _KERNELS_ELSEWHERE.get(name.lower(), name.lower())
    if known in {*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}:
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


def _text(value, name):
    """Return an argument as it is typed, or the name of a variable for models and data."""
    if name in _FEATURES and not hasattr(value, "coef"):
        return f"mercer.features(kernel, {_FEATURES[name]})"
    if value is ... or name in _DATA:
        return name
    if name == "kernel" and isinstance(value, Real):
        return f"mercer.Gaussian({value})"
    if name == "kernels" and isinstance(value, list):
        return f"[{', '.join(_text(each, '') for each in value)}]"
    text = shown(value)
    if hasattr(value, "vjp"):
        # others have kernels or arrays inside
        if text.count("(") > 1:
            return "kernel"
        return text.replace(type(value).__name__, _public(type(value)))
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
_INSTEAD = _table("""
to_onnx: mercer.formats.to_onnx(model), and for a file onnx.save(mercer.formats.to_onnx(model), path)
CalibratedClassifierCV: mercer.SVCCV(calibration='sigmoid'), or sklearn.calibration.CalibratedClassifierCV
Conformal: mercer.Rescaled
ConstantKernel: a number, as in 2.0 * mercer.Gaussian(0.5) + 1.0
DMatrix: arrays, as in mercer.SVC().fit(X, y)
DTW: mercer.sequences.GlobalAlignment
DotProduct: mercer.Linear() + sigma_0**2
ExpSineSquared: mercer.Periodic(period, length)
GaussianProcessClassifier: mercer.SVCCV(calibration='sigmoid')
GaussianProcessRegressor GPR GaussianProcess: mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')
GridSearchCV: mercer.SVCCV(Cs=10, gammas=5), or sklearn.model_selection.GridSearchCV
KPCA: mercer.KernelPCA(n_components, kernel='rbf')
KMeans: mercer.Kernelized(sklearn.cluster.KMeans(3), kernel='rbf')
Levenshtein: mercer.strings.Subsequence, or Mismatch
LinearSVC: mercer.SVC(kernel='linear')
LinearSVR: mercer.SVR(kernel='linear')
PCA: mercer.KernelPCA(n_components, kernel='linear'), or sklearn.decomposition.PCA
RBF SquaredExponential SE ExponentiatedQuadratic: mercer.Gaussian(1 / (2 * length_scale**2)); a scale for each \
column is mercer.Mapped(mercer.Gaussian(0.5), 1 / numpy.array(length_scale)), and mercer.learn_scales finds it
RBFSampler RandomFourierFeatures: mercer.maps.random_fourier(mercer.Gaussian(gamma), n_features_in, m), a function \
that returns 2 m features, or mercer.Nystroem(n_components=100, gamma=gamma)
SVM KernelSVM SVM_RBF SupportVectorMachine fit fitcsvm fitrsvm ksvm train: mercer.SVC() to classify, mercer.SVR() \
for regression
ScaleKernel: a factor, as in 2.0 * mercer.Gaussian(0.5), the kernel RBF of length scale 1; mercer.learn_scales and \
mercer.Mapped(mercer.Gaussian(0.5), 1 / length_scales) have a scale for each column
KernelCCA: sklearn.cross_decomposition.CCA after mercer.KernelPCA; mercer has no other
Matern32: mercer.Matern(length, nu=1.5)
Matern52: mercer.Matern(length, nu=2.5)
SVGP SparseGP: mercer.KernelRidge(kernel='rbf', landmarks=100)
StringKernel: mercer.strings.Spectrum, as in Spectrum(3), or Subsequence
patch: mercer.patch_sklearn()
from_onnx: mercer.load(path) for a file of mercer.save; no model is read from ONNX
kernel_matrix pairwise_kernels gram_matrix compute_kernel_matrix: a kernel as a function, mercer.Gaussian(gamma)(X, Z)
median_heuristic: gamma='median', as in mercer.SVC(gamma='median')
plot plot_decision_boundary decision_boundary plot_decision_regions: \
mercer.plot.DecisionBoundaryDisplay.from_estimator(model, X)
WL graph: mercer.graphs.WeisfeilerLehman, whose points are networkx.Graph(edges) or mercer.graphs.Graph(adjacency)
WhiteKernel: alpha of mercer.KernelRidge, the variance of the noise, as in mercer.KernelRidge(alpha=0.1, \
kernel=mercer.Gaussian(0.5)), and no term of the kernel
kernel get_kernel: a kernel, such as mercer.Gaussian(0.1)
rbfdot: mercer.Gaussian(sigma), whose gamma is the sigma of kernlab
laplacedot: mercer.Laplacian(gamma) of |x - z|_1, or mercer.Matern(length, nu=0.5) of |x - z|
polydot: mercer.Polynomial(degree, gamma=scale, coef0=offset)
vanilladot: mercer.Linear()
tanhdot: mercer.Sigmoid(gamma=scale, coef0=offset)
stringdot: mercer.strings.Spectrum(length), or Subsequence
linear_kernel: mercer.Linear()(X, Z)
rbf_kernel: mercer.Gaussian(gamma)(X, Z)
decomposition: mercer.KernelPCA, or sklearn.decomposition
gaussian_process: mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood') for GaussianProcessRegressor, \
mercer.SVCCV(calibration='sigmoid') for GaussianProcessClassifier, mercer.Gaussian(1 / (2 * length_scale**2)) for \
RBF, a number for ConstantKernel, alpha of KernelRidge for WhiteKernel
kernel_approximation: mercer.Nystroem, and for RBFSampler mercer.maps.random_fourier(mercer.Gaussian(gamma), \
n_features_in, m)
LSSVM KRR: mercer.KernelRidge
metrics pairwise: sklearn.metrics for scores, and kernels as functions, such as mercer.Gaussian(gamma)(X, Z) for \
rbf_kernel(X, Z, gamma)
svm: mercer.SVC, mercer.SVR, mercer.NuSVC, mercer.NuSVR, mercer.OneClassSVM, for LinearSVC \
mercer.SVC(kernel='linear'), for LinearSVR mercer.SVR(kernel='linear')
svm_train: mercer.SVC(C=1.0, kernel='rbf', gamma=0.1).fit(X, y)
KernelLDA KFDA KDA: mercer.KernelFisher
SupportVectorClassifier SVMClassifier: mercer.SVC
SupportVectorRegressor SVMRegressor: mercer.SVR
MKL MultipleKernelLearning: mercer.combine(kernels, X, y)
HSIC independence_test: mercer.hsic_test(X, Y)
two_sample_test: mercer.mmd_test(X, Z)
""")
# What to use for names that begin so.
_BEGINNINGS = _table("""
dump|pickle|save|store|write: mercer.save(model, path), and mercer.load(path) to read it
load|read|restore: mercer.load(path)
convert|export|to_: mercer.formats.to_onnx, to_c or write_libsvm, as in onnx.save(mercer.formats.to_onnx(model), \
path), or mercer.save(model, path)
""")
# Attributes and methods of other libraries, and what has the same here; first those of a class or mixin.
_ATTRIBUTES = _table("""
KernelPCA.alphas_: eigenvectors_
KernelPCA.components_: expansion_, the components as vectors of the feature space
KernelPCA.explained_variance_: eigenvalues_ / (n - 1), or explained_variance_ratio_
KernelPCA.lambdas_: eigenvalues_
KernelRidge.coef_: dual_coef_, or expansion_
OutlierMixin.predict_proba: score_samples(X) or decision_function(X)
RegressorMixin.decision_function: predict(X)
TransformerMixin.predict: transform, and an estimator after it, as in \
sklearn.pipeline.make_pipeline(mercer.{}(), mercer.SVC(kernel='linear'))
alpha_: dual_coef_, the coefficients of the support vectors times their labels
alphas_: dual_coef_
b: intercept_
OutlierMixin.score: score_samples(X); a fit has no labels, but sklearn.metrics.accuracy_score(y, \
model.predict(X)) compares labels of 1 and -1
Expansion.mean: mercer.mean(phi)
Expansion.preimage: mercer.preimage(phi)
PreImage.x: points
accuracy evaluate: score(X, y)
anomaly_score: score_samples(X), or decision_function(X)
best_c_: best_params_['C']
best_gamma_: best_params_['gamma']
compress: mercer.compress(model, X, y, n_vectors=10)
decision_values: decision_function(X)
fit_predict: fit(X, y).predict(X)
n_vectors: len(model.expansion_.points)
predict_var: predict(X, return_std=True) or predict_interval(X) of mercer.KernelRidge
sv_indices: support_
train: fit(X, y)
conf_int: predict_interval(X, confidence=0.9) of mercer.KernelRidge
cuda to gpu: arrays on the device, fit(torch.tensor(X, device='cuda'), y); docs/guide/gpu.md says what runs there
feature_importances_: sklearn.inspection.permutation_importance(model, X, y), or mercer.learn_scales(k, X, y)
log_marginal_likelihood: tune='marginal_likelihood', which maximises it
plot: mercer.plot.DecisionBoundaryDisplay.from_estimator(model, X)
predict_interval: mercer.KernelRidge or mercer.QuantileSVR
predict_proba probabilities proba: mercer.SVCCV(calibration='sigmoid'), or \
sklearn.calibration.CalibratedClassifierCV(model)
predict_log_proba: numpy.log of predict_proba(X) of mercer.SVCCV(calibration='sigmoid')
resid residuals: loo_residuals_ of mercer.KernelRidge, or y - model.predict(X)
summary: score(X, y), or mercer.certify(model, X, y)
rho: intercept_, which has the other sign
sv: support_vectors_
w coefs_: coef_, for kernel='linear', or expansion_
""")
# Modules of public names, the first one for a name that several have.
_MODULES = [
    "mercer",
    "mercer.kernels",
    "mercer.strings",
    "mercer.graphs",
    "mercer.sets",
    "mercer.sequences",
    "mercer.formats",
    "mercer.maps",
    "mercer.capacity",
    "mercer.learning",
    "mercer.reduction",
    "mercer.preimages",
    "mercer.manifold",
    "mercer.invariance",
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


def explain_class(cls: _C) -> _C:
    """Let the errors of unknown attributes of a class, and of wrong calls of its methods, say what to write."""
    if not hasattr(cls, "__getattr__"):
        cls.__getattr__ = refuse_attribute
    for name, method in [*vars(cls).items()]:
        public = name == "__init__" or not name.startswith("_")
        if public and inspect.isfunction(method) and method not in _EXPLAINED:
            setattr(cls, name, explained(method))
    return cls


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
            paths = {_plain(known): path, _folded(known): path} | paths
    key = _folded(name)
    # classes, which are first, before functions
    instead = {_folded(each): use for each, use in reversed(_INSTEAD.items())} | _INSTEAD
    own = {_folded(each) for each in import_module(module).__all__}
    return (
        instead.get(name)
        or paths.get(_plain(name))
        or instead.get(key)
        or (key not in own and _in_sklearn(name))
        or paths.get(key)
        or paths.get(_near(key, own, 0.75))
    )


def _name_of_module(module, name):
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    use = use_of(name, module)
    return f"{text}; {f'use {use}' if use else _listed(import_module(module).__all__, name)}"


def _name_of_object(cls, name):
    text = f"{cls.__name__} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    if hasattr(cls, "vjp"):
        known = [*cls.__match_args__, "diag", "get_params", "resolve", "tags", "vjp"]
        return f"{text}; its values are kernel(X, Z); {_listed(known)}"
    names = _attributes(cls)
    estimator = hasattr(cls, "fit")
    if estimator and name in names:
        return f"{text} yet; call fit, with the parameters that it needs"
    own = {_folded(each): each for each in names}
    uses = own | {_folded(each): use for each, use in _ATTRIBUTES.items()}
    key = _folded(name)
    keys = [*(_folded(f"{each.__name__}.{name}") for each in cls.__mro__), key]
    use = next((uses[each].format(cls.__name__) for each in keys if each in uses), None)
    if estimator and not use and _holders(name):
        return f"{text}; {_holders(name)}"
    use = use or _in_sklearn(name) or own.get(_near(key, own, 0.7))
    return f"{text}; {f'use {use}' if use else _listed(names, name)}"


def _listed(names, wanted=""):
    """Return which names there are; of many only those whose spelling is near a wanted one."""
    names = [*dict.fromkeys(names)]
    # a dozen is read
    if wanted and len(names) > 12:
        spelled = {each.lower(): each for each in names}
        near = difflib.get_close_matches(wanted.lower(), spelled, 5, 0.5)
        if not near:
            return f"dir() lists its {len(names)} names"
        names = [*(spelled[each] for each in near), "..."]
    return f"it has {', '.join(names) or 'none'}"


def _holders(name):
    """Return which estimators have a parameter, method or attribute; empty if none has."""
    estimators = vars(sys.modules["mercer.estimators"]).items()
    have = [each for each, cls in estimators if isinstance(cls, type) and name in _attributes(cls)]
    return f"{', '.join(have)} {'have' if have[1:] else 'has'} it" if have else ""


def _attributes(cls):
    """Return the names with an underscore at their end of the docstring of a class, its fields and its methods."""
    documented = re.findall(r"\b[a-zA-Z]\w+_\b", cls.__doc__ or "")
    own = [*getattr(cls, "__match_args__", ()), *dir(cls)]
    return [*documented, *(each for each in own if not each.startswith(("_", "set_", "get_")))]


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
