"""Names of other libraries, and other spellings: errors of unknown names and arguments say what to write instead."""

import ast
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

from mercer._common import AnyFunction, shown

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _plain(name):
    """Return a name without case and underscores."""
    return name.lower().replace("_", "")


def _folded(name):
    """Return a name without case, underscores and words that libraries add."""
    return re.sub("kernel|regression|_", "", name.lower())


def _table(text, spelled=str):
    """Return what follows the colon in the lines of a text, for each of the words before it."""
    lines = (line.partition(": ") for line in text.splitlines())
    return {spelled(word): value for words, _, value in lines for word in words.split()}


# Names of kernels that estimators take, and those of other libraries.
KERNELS = _table("""
additive_chi2: additive_chi2
chi2: chi2
cosine: cosine
laplacian exponential laplace laplacedot: laplacian
linear lin vanilladot: linear
poly polynomial polydot: poly
precomputed: precomputed
rbf gauss gaussian radial rbfdot se squared_exponential: rbf
sigmoid hyperbolic tanh tanhdot: sigmoid
""")

# --- parameters ------------------------------------------------------------------------------------------------------

# The remedy follows "SVC has no parameter nu; ". One with "..." holds what to write; the others say to leave it out.
REMEDIES = _table("""
C: SVC, SVR, NuSVR and SVDD have it; NuSVC and OneClassSVM have nu, KernelRidge has alpha
nu: NuSVC, NuSVR and OneClassSVM have it, and as smoothness mercer.Matern(length=1.0, nu=1.5); SVDD(C=1 / (nu * n)) \
leaves at most the share nu of n points outside
kernel_params: they belong to the kernel: kernel=mercer.Gaussian(gamma=...), or a function of two blocks
probability: use mercer.SVCCV(calibration='sigmoid'), which mercer.save takes, or \
sklearn.calibration.CalibratedClassifierCV
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
param_grid: give the values as in mercer.SVCCV(Cs=[1, 10], gammas=[0.1, 1]), or leave them to its search
optimizer n_restarts_optimizer: tune='marginal_likelihood' or 'loo' chooses the parameters of the kernel and alpha \
of mercer.KernelRidge
""")
# The same for arguments of any call, and for those of one function or class.
_SAID = {_plain(name): remedy for name, remedy in REMEDIES.items()} | _table(
    """
mmd_test.alpha hsic_test.alpha ksd_test.alpha: compare the pvalue of the result with it
combine.weights: a sum has given weights, such as 0.3 * mercer.Gaussian(0.5) + 0.7 * mercer.Linear()
target: fit(X, y) takes it
Linear.gamma Linear.degree Linear.sigma Linear.length_scale: a linear kernel has no parameters
Sum.gamma Sum.sigma Sum.length_scale Product.gamma Product.sigma Product.length_scale: the parts of a kernel have \
their own, as in mercer.Gaussian(0.1) + mercer.Linear(), in a grid kernel__left__gamma
mmd.kernel mean.kernel sqdist.kernel: mercer.features(kernel, X) has it, as in \
mercer.mmd(mercer.features(kernel, X), mercer.features(kernel, Z))
balanced: class_weight='balanced' does this
label labels node_label node_labels: fit(X, y) takes labels of points; those of nodes are their attribute 'label' in \
networkx, or labels of mercer.graphs.Graph
loss: leave it out; it is the hinge for SVC, squares for KernelRidge
contamination outlier_fraction outliers_fraction: OneClassSVM has nu; SVDD(C=1 / (nu * n)) leaves at most the \
share nu of n points outside
preimage.n_iter preimage.max_iter preimage.tol: method=mercer.FixedPoint(max_iter=100, tol=1e-6) takes it
cat_features categorical_feature categorical_features: columns of texts, of booleans and of dtype category are taken \
as categories
device gpu_id use_gpu: give arrays on the device, fit(torch.tensor(X, device='cuda'), y); docs/guide/gpu.md says \
what runs there
proba: mercer.SVCCV(calibration='sigmoid') has predict_proba(X)
return_interval: mercer.KernelRidge() has predict_interval(X, confidence=0.9)
return_std: mercer.KernelRidge() has predict(X, return_std=True), and for classes \
mercer.SVCCV(calibration='sigmoid') has predict_proba(X)
ard: a scale for each column is mercer.Mapped(mercer.Gaussian(0.5), 1 / numpy.array(length_scales)), and \
mercer.learn_scales finds it
param_distributions: give the values as in mercer.SVCCV(Cs=[1, 10], gammas=[0.1, 1]), or leave them to its search
kpar: its entries are parameters, gamma for sigma and scale of kernlab, degree, and coef0 for offset
""",
    _plain,
)
# Parameters that have the meaning of an argument, the first that a call has, and the formula of the value of a number.
_MEANT = _table(
    """
kernel_gamma Sigmoid.alpha: gamma
sigma length length_scale bandwidth width kernel_width: gamma=1/(2*{}**2) length
Laplacian.sigma Laplacian.length Laplacian.length_scale Laplacian.bandwidth Laplacian.width: gamma=1/{}
kernel_scale: gamma=1/{}**2
Matern.gamma: length=(2*{})**-0.5
scale: length
KernelRidge.C: alpha=1/(2*{})
KernelRidge.alphas: tune='loo'
KernelRidge.fit_intercept: free='constant'
C: Cs=[{}]
cost box_constraint: C
regularization: C alpha
l2 noise noise_variance noise_level reg reg_lambda ridge weight_decay: alpha
lambda lam: alpha decay
alpha: quantile confidence=1-{} ridge
q quantiles tau: quantile
level coverage: confidence
contamination outliers outlier_fraction outliers_fraction: nu
eps tube insensitivity: epsilon
tolerance TolFun: tol
bias offset Polynomial.c Sigmoid.c: coef0
kernel_function kernel_type: kernel
kernel_degree power order polynomial_order: degree
Periodic.p: period
p: length degree
d: n_components degree
k n: n_vectors n_components length
n_comps features dim: n_components
n_features: n_components d
n_components: landmarks n_landmarks n_vectors n
Nystroem.n_landmarks: n_components
n_landmarks: landmarks n_vectors n_components
size vectors ratio to budget n_sv max_sv: n_vectors
max_error: max_loss
cache_size: memory='{}MB'
folds n_folds n_splits: cv
seed: random_state
weights weight w: sample_weight
n_perm n_boot n_resamples B: n_permutations n_bootstrap
h n_iter depth: iterations
m: mismatches
periodicity: period
data: X
target targets label labels: y
Y: Z
n_samples: n
filename file fname: path
""",
    _plain,
)
# Calls around a call that an argument stands for.
_AROUND = _table(
    """
probability: sklearn.calibration.CalibratedClassifierCV({})
SVRCV.epsilons: sklearn.model_selection.GridSearchCV({}, dict(epsilon={}))
normalize_y: sklearn.compose.TransformedTargetRegressor({}, transformer=sklearn.preprocessing.StandardScaler())
Model.standardize Model.scale Model.normalize: sklearn.pipeline.make_pipeline(\
sklearn.preprocessing.StandardScaler(), {})
Kernel.active_dims: mercer.Mapped({}, numpy.r_[{}])
Kernel.normalize: mercer.Normalized({})
Kernel.variance: {1} * {0}
Linear.c Linear.coef0 Linear.offset Linear.bias: {} + {}
""",
    _plain,
)
# Ends of the errors of wrong calls of a function, or of the classes of one kind, and of a formula.
_NOTES = _table("""
combine: kernels are a list, as in mercer.combine([mercer.Gaussian(0.1), mercer.Linear()], X, y); models are combined \
by VotingClassifier and StackingClassifier of sklearn.ensemble
patch_sklearn: it patches SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelPCA, KernelRidge and Nystroem at once; for \
LinearSVC use SVC(kernel='linear')
predict: score(X, y) compares with y
Model: give those after * by name, and data to fit, as in mercer.SVC(1.0, kernel='rbf').fit(X, y)
Kernel: its values are kernel(X, Z), and a variance is a factor, as in 2.0 * mercer.Gaussian(0.5)
save: one file holds one model
random_fourier: a kernel is an object, as mercer.Gaussian(1.0)
certify: X and y are the training data
sigma: , or gamma = sigma where the kernel is exp(-sigma |x - z|^2), as in kernlab
set_params: parameters have names, as in set_params(C=1)
svd lstsq mmd: phi and chi are features of points, as mercer.features(kernel, X)
""")
# Parameters that are kernels.
_KERNELS = ("kernel", "kernel_x", "kernel_y")


def refuse_unknown(cls: type[Any], values: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Raise a TypeError for arguments of an estimator that are no parameters, or stand in the place of another one."""
    names = cls.__match_args__
    known = cls.__dataclass_fields__.keys() - {*names[: len(values)]}
    misplaced = [
        f"got {shown(value)}"
        for name, value in zip(names, values, strict=False)
        if (not isinstance(value, (str, Callable)) if name == "kernel" else _is_kernel(value))
    ]
    if misplaced or len(values) > len(names) or not params.keys() <= known:
        refuse_call(cls, values, params, *misplaced[:1])


def _is_kernel(value):
    """Return whether a value is a kernel, the name of one, or the options of LIBSVM, which choose one."""
    if isinstance(value, str):
        return value.lower() in KERNELS or value.startswith(("-s ", "-t ", "-c "))
    return hasattr(value, "vjp")


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
    function: AnyFunction, values: tuple[Any, ...], params: dict[str, Any], reason: str = ""
) -> None:
    """Raise a TypeError for a call that lacks arguments, has some that are unknown, or is wrong for another reason.

    It says what to write for each that is unknown, and writes the call if nothing else is wrong.
    """
    if function.__name__ == "__init__":
        function = type(values[0])
        values = values[1:]
    name = function.__name__
    label = name
    path = _public(function)
    is_class = isinstance(function, type)
    parameters = inspect.signature(function.__init__ if is_class else function).parameters
    signature = inspect.Signature(
        [each.replace(annotation=each.empty) for each in parameters.values() if each.name != "self"]
    )
    if "self" in parameters and not is_class:
        if not (values and hasattr(type(values[0]), name)):
            raise TypeError(
                f"{name} is called on the class; make an object of it first, as in Class().{name}(...)."
            ) from None
        label = f"{type(values[0]).__name__}.{name}"
        path = name
        values = values[1:]
    kept, texts, remedies, lost, around = _repaired(function, signature.parameters, params)
    given = dict(zip(signature.parameters, values, strict=False)) | kept
    try:
        signature.bind(*values, **kept)
    except TypeError as error:
        reason = reason or str(error)
    if not (reason or remedies):
        return
    fault = _fault(None if reason else function, given)
    found = [f"{', '.join(names)}; {remedy}" for remedy, names in remedies.items()]
    said = [f"{label} has no parameter {', nor '.join(found)}"] if found else []
    if reason:
        said += [f"{label} takes {signature}: {reason}", _first(_NOTES, _owners(function))]
    text = "; ".join(filter(None, [*said, fault]))
    if not (reason or fault):
        written = _written(signature.parameters, given, len(values), texts)
        without = f"without {' and '.join(lost)} " if lost else ""
        text += f": {without}write {around.format(f'{path}({written})')}"
    raise TypeError(f"{text}.") from None


def _owners(function):
    """Return the names of a class and those that it inherits from, or of a function."""
    return [each.__name__ for each in getattr(function, "__mro__", [function])]


def _first(table, keys):
    """Return the entry of the first of some keys that a table has; empty if it has none."""
    return next((table[key] for key in keys if key in table), "")


def _repaired(function, known, params):
    """Return the known arguments by name of a function or class, and what to write for the others.

    These are: arguments, texts of some, names for each remedy, names that are left out, and the form of calls around.
    """
    params = {
        name: KERNELS.get(shown(value).strip("'").lower(), value)
        if "kernel" in name.lower()
        else value
        for name, value in params.items()
    }
    kernel = _kernel(params.get("kernel", "rbf"))
    known = dict(known)
    if kernel is params.get("kernel"):
        # beside an object those of kernels given by name are not meant
        for name in {*sys.modules["mercer.kernels.shorthand"].PARAMETERS} - params.keys():
            known.pop(name, None)
    kernels = [name for name in _KERNELS if name in known]
    own = [name for name in kernel.__match_args__ if kernels and name not in known]
    owners = [*_owners(function), type(kernel).__name__]
    kept = {name: value for name, value in params.items() if name in known}
    texts = {}
    said = {}
    lost = []
    around = "{}"
    for name, value in params.items():
        if name in known:
            continue
        keys = [_plain(f"{owner}.{name}") for owner in owners] + [_plain(name)]
        remedy, other, formula = _meaning(keys, name, known | dict.fromkeys(own))
        if formula and value is False:
            remedy = "leave it out"
            other = ""
        wrapper = _first(_AROUND, keys)
        if wrapper:
            remedy = _first(_SAID, keys) or "a call around it does this"
            if value is not False:
                around = wrapper.format(around, shown(value))
        elif other in kept or not other:
            lost.append(name)
        else:
            kept[other] = value
            if formula and (isinstance(value, Real) or "{" not in formula):
                texts[other] = formula.format(value)
        said.setdefault(remedy, []).append(name)
    inner = {name: kept.pop(name) for name in own if name in kept}
    for name in kernels if inner else ():
        kept[name] = _kernel(kept.get(name, "rbf"))
        values = kept[name].get_params(deep=False) | inner
        texts[name] = f"{_public(type(kept[name]))}({_written(values, values, 0, texts)})"
    return kept, texts, said, lost, around


def _meaning(keys, name, known):
    """Return what is said of an argument, the known name of its meaning or "", and the formula of its value."""
    meanings = " ".join(_MEANT.get(key, "") for key in keys).split()
    for meaning in (name, *meanings, _found(name, {each: each for each in known}) or ""):
        other, _, formula = meaning.partition("=")
        if other in known:
            value = f" = {formula.format(name)}{_NOTES.get(name, '')}" if formula else ""
            said = "it belongs to the kernel" if other == name else f"use {other}{value}"
            return said, other, formula
    return _first(_SAID, keys) or _holders(name) or _listed(known), "", ""


def _written(names, given, n_placed, texts):
    """Return the arguments of a call, of which the first few have no name."""
    written = []
    for place, name in enumerate(names):
        # targets go with their points
        if name in given or (name == "y" and "X" in given):
            text = texts.get(name) or _text(name, given.get(name, ...))
            written.append(text if place < n_placed else f"{name}={text}")
    return ", ".join(written)


def _fault(function, given):
    """Return why a class refuses arguments, or why some are no points; empty if neither."""
    try:
        made = function(**given) if isinstance(function, type) else None
        if hasattr(made, "fit") and hasattr(made, "kernel"):
            sys.modules["mercer.kernels.shorthand"].kernel_of(made)
        for name in sorted(given.keys() & {*"XYZy"}):
            sys.modules["mercer._compute.readable"].refuse_container(given[name], name)
    except (TypeError, ValueError) as error:
        return str(error).removesuffix(".")
    return ""


def _kernel(value):
    """Return the kernel of an argument, that of "rbf" for one that is no kernel."""
    try:
        return sys.modules["mercer.kernels.shorthand"].as_kernel(value)
    except (TypeError, ValueError):
        return _kernel("rbf")


def _text(name, value):
    """Return an argument as it is typed, or the name of a variable, for points, models and composed kernels."""
    text = shown(value)
    if hasattr(value, "vjp") and text.count("(") == 1:
        return text.replace(type(value).__name__, _public(type(value)))
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return name
    return text


def _public(each):
    """Return the public path of a class or function."""
    return _paths("mercer").get(each.__name__, each.__name__)


# --- names -----------------------------------------------------------------------------------------------------------

# What to use for names of other libraries, and for names that are elsewhere.
_INSTEAD = _table("""
to_onnx: mercer.formats.to_onnx(model), and for a file onnx.save(mercer.formats.to_onnx(model), path)
CalibratedClassifierCV: mercer.SVCCV(calibration='sigmoid'), or sklearn.calibration.CalibratedClassifierCV
Conformal conformal: predict_interval(X) of mercer.KernelRidge, mercer.Rescaled for a conformal change of a kernel
KernelRidgeCV: mercer.KernelRidge(tune='loo')
ConstantKernel: a number, as in 2.0 * mercer.Gaussian(0.5) + 1.0
DMatrix: arrays, as in mercer.SVC().fit(X, y)
DTW: mercer.sequences.GlobalAlignment
DotProduct: mercer.Linear() + sigma_0**2
ExpSineSquared: mercer.Periodic(period, length)
GaussianProcessClassifier GPClassifier GPC: mercer.SVCCV(calibration='sigmoid')
GaussianProcessRegressor GPR GPRegressor GaussianProcess gausspr fitrgp: \
mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')
GridSearchCV: mercer.SVCCV(Cs=10, gammas=5), or sklearn.model_selection.GridSearchCV
KPCA: mercer.KernelPCA(n_components, kernel='rbf')
KMeans: mercer.Kernelized(sklearn.cluster.KMeans(3), kernel='rbf')
Levenshtein: mercer.strings.Subsequence, or Mismatch
Add AdditiveKernel: a sum of kernels, mercer.Gaussian(0.5) + mercer.Linear()
Exponentiation: a power of a kernel, mercer.Gaussian(0.5) ** 2
Exponential AbsoluteExponential: mercer.Matern(length, nu=0.5)
Cosine: mercer.Normalized(mercer.Linear())
LinearSVC: mercer.SVC(kernel='linear')
LinearSVR: mercer.SVR(kernel='linear')
PCA: mercer.KernelPCA(n_components, kernel='linear'), or sklearn.decomposition.PCA
RBF RBFKernel SquaredExponential SE ExponentiatedQuadratic: mercer.Gaussian(1 / (2 * length_scale**2)); a scale for \
each column is mercer.Mapped(mercer.Gaussian(0.5), 1 / numpy.array(length_scale)), and mercer.learn_scales finds it
RBFSampler RandomFourierFeatures rff: mercer.maps.random_fourier(mercer.Gaussian(gamma), n_features_in, m), a function \
that returns 2 m features, or mercer.Nystroem(n_components=100, gamma=gamma)
SVM KernelSVM SVM_RBF SupportVectorMachine fit fitcsvm fitrsvm ksvm train: mercer.SVC() to classify, mercer.SVR() \
for regression
ScaleKernel: a factor, as in 2.0 * mercer.Gaussian(0.5), the kernel RBF of length scale 1; mercer.learn_scales and \
mercer.Mapped(mercer.Gaussian(0.5), 1 / length_scales) have a scale for each column
KernelCCA: sklearn.cross_decomposition.CCA after mercer.KernelPCA; mercer has no other
matern: mercer.Matern(length=1.0, nu=1.5), whose length is the scale
Matern32: mercer.Matern(length, nu=1.5)
Matern52: mercer.Matern(length, nu=2.5)
SVGP SparseGP: mercer.KernelRidge(kernel='rbf', landmarks=100)
StringKernel: mercer.strings.Spectrum, as in Spectrum(3), or Subsequence
spectrum: mercer.strings.Spectrum, or mercer.capacity.spectrum for eigenvalues
patch: mercer.patch_sklearn()
from_onnx: mercer.load(path) for a file of mercer.save; no model is read from ONNX
kernel_matrix pairwise_kernels gram_matrix compute_kernel_matrix: a kernel as a function, mercer.Gaussian(gamma)(X, Z)
median_heuristic sigest: gamma='median', as in mercer.SVC(gamma='median')
plot plot_decision_boundary decision_boundary plot_decision_regions: \
mercer.plot.DecisionBoundaryDisplay.from_estimator(model, X)
wl WL graph: mercer.graphs.WeisfeilerLehman, whose points are networkx.Graph(edges) or mercer.graphs.Graph(adjacency)
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
gaussian_process models: mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood') for GaussianProcessRegressor \
and GPR, mercer.SVCCV(calibration='sigmoid') for GaussianProcessClassifier, \
mercer.Gaussian(1 / (2 * length_scale**2)) for RBF, a number for ConstantKernel, alpha of KernelRidge for WhiteKernel
kernel_approximation: mercer.Nystroem, and for RBFSampler mercer.maps.random_fourier(mercer.Gaussian(gamma), \
n_features_in, m)
LSSVM KRR: mercer.KernelRidge
metrics pairwise: sklearn.metrics for scores, and kernels as functions, such as mercer.Gaussian(gamma)(X, Z) for \
rbf_kernel(X, Z, gamma)
svm: mercer.SVC, mercer.SVR, mercer.NuSVC, mercer.NuSVR, mercer.OneClassSVM, for LinearSVC \
mercer.SVC(kernel='linear'), for LinearSVR mercer.SVR(kernel='linear')
svm_predict predict: predict of a fitted model, as in mercer.SVC().fit(X, y).predict(X)
svm_load_model load_libsvm read_libsvm from_libsvm: mercer.as_expansion(path)
svm_save_model save_libsvm: mercer.formats.write_libsvm(model, path)
kqr: mercer.QuantileSVR(quantile=0.5).fit(X, y)
OCSVM: mercer.OneClassSVM(nu=0.1).fit(X)
svm_train: mercer.SVC(C=1.0, kernel='rbf', gamma=0.1).fit(X, y)
KernelLDA KFDA KDA: mercer.KernelFisher
SupportVectorClassifier SVMClassifier: mercer.SVC
SupportVectorRegressor SVMRegressor: mercer.SVR
MKL MultipleKernelLearning: mercer.combine(kernels, X, y)
HSIC independence_test: mercer.hsic_test(X, Y)
two_sample_test kmmd: mercer.mmd_test(X, Z)
""")
# What to use for names that begin so.
_BEGINNINGS = _table("""
dump|pickle|save|store|write: mercer.save(model, path), and mercer.load(path) to read it
load|read|restore: mercer.load(path)
convert|export|to_: mercer.formats.to_onnx, to_c or write_libsvm, as in onnx.save(mercer.formats.to_onnx(model), \
path), or mercer.save(model, path)
""")
# Attributes and methods of other libraries, and what has the same here; first those of a class or mixin.
_OF_CLASSES = _table("""
KernelPCA.alphas_ KernelPCA.alphas: eigenvectors_
KernelPCA.components_: expansion_, the components as vectors of the feature space
KernelPCA.explained_variance_: eigenvalues_ / (n - 1), or explained_variance_ratio_
KernelPCA.lambdas_ KernelPCA.lambdas: eigenvalues_
KernelPCA.X_fit_ KernelRidge.X_fit_: expansion_.points
KernelPCA.X_transformed_fit_ KernelPCA.dual_coef_: inverse_transform, which searches pre-images
KernelRidge.coef_: dual_coef_, or expansion_
Nystroem.component_indices_ Nystroem.components_: landmarks_, the points themselves
Normals.fit_status_: certificate_, which says how accurate the fit is
Nystroem.normalization_: expansion_, the features as vectors of the feature space
OutlierMixin.predict_proba: score_samples(X) or decision_function(X)
RegressorMixin.decision_function: predict(X)
RegressorMixin.predict_proba: predict_interval(X) of mercer.KernelRidge or mercer.TableRegressor, or \
predict(X, return_std=True) of mercer.KernelRidge
TransformerMixin.predict: transform, and an estimator after it, as in \
sklearn.pipeline.make_pipeline(model, mercer.SVC(kernel='linear'))
OutlierMixin.score: score_samples(X); a fit has no labels, but sklearn.metrics.accuracy_score(y, \
model.predict(X)) compares labels of 1 and -1
Expansion.mean: mercer.mean(phi)
Gram.to_numpy Gram.toarray Gram.todense Gram.numpy: dense()
Expansion.preimage: mercer.preimage(phi)
PreImage.x: points
""")
_ATTRIBUTES = _table("""
alpha_: dual_coef_, the coefficients of the support vectors times their labels
alphas_: dual_coef_
b: intercept_
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
predict_interval: mercer.KernelRidge or mercer.TableRegressor; mercer.QuantileSVR predicts quantiles
predict_proba probabilities proba: mercer.SVCCV(calibration='sigmoid'), or \
sklearn.calibration.CalibratedClassifierCV(model)
predict_log_proba: numpy.log of predict_proba(X) of mercer.SVCCV(calibration='sigmoid')
resid residuals: loo_residuals_ of mercer.KernelRidge, or y - model.predict(X)
summary: score(X, y), or mercer.certify(model, X, y)
rho: intercept_, which has the other sign
shape_fit_: n_features_in_
sv: support_vectors_
w coefs_: coef_, for kernel='linear', or expansion_
""")
# Modules of public names beside Mercer itself, the first one for a name that several have.
_MODULES = [
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


def explain_names(module: str, explain: AnyFunction = explained) -> None:
    """Let the errors of unknown names of a module, and of wrong calls of its functions, say what to write.

    ``explain`` may do more for the functions than ``explained``.
    """
    names = vars(sys.modules[module])
    names.setdefault("__getattr__", functools.partial(refuse_name, module))
    for name in names["__all__"]:
        if inspect.isfunction(names.get(name)):
            # pickle looks there, and other modules may list the function too
            home = vars(sys.modules[names[name].__module__])
            if not hasattr(home[name], "__wrapped__"):
                home[name] = explain(home[name])
            names[name] = home[name]


def explain_class(cls: type[_R]) -> type[_R]:
    """Let the errors of unknown attributes of a class, and of wrong calls of its methods, say what to write."""
    if not hasattr(cls, "__getattr__"):
        cls.__getattr__ = refuse_attribute
    for name, method in [*vars(cls).items()]:
        public = name == "__init__" or not name.startswith("_")
        if public and inspect.isfunction(method):
            setattr(cls, name, explained(method))
    return cls


def refuse_name(module: str, name: str, depth: int = 1) -> NoReturn:
    """Raise the error of an unknown name of a module, which is asked for ``depth`` calls away."""
    frame = sys._getframe(depth)  # noqa: SLF001 - the instruction tells an import from other uses
    if frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]:
        # the statement would drop the text of an AttributeError
        names = next(
            each for each in frame.f_code.co_consts if type(each) is tuple and name in each
        )
        missing = [each for each in names if not hasattr(sys.modules[module], each)]
        raise ImportError("; ".join(_name_of_module(module, each) for each in missing), name=module)
    # Python adds names of similar spelling unless the name is None
    raise AttributeError(_Text(_name_of_module, module, name), name=None)


def refuse_attribute(each: object, name: str) -> NoReturn:
    """Raise the error of an attribute that a model or a kernel lacks."""
    raise AttributeError(_Text(_name_of_object, type(each), name), name=None) from None


@functools.cache
def _paths(module):
    """Return the paths of public names, of several of one name first that of Mercer itself, then that of a module."""
    paths = {}
    for each in ("mercer", module, *_MODULES):
        for name in import_module(each).__all__:
            paths.setdefault(name, f"{each}.{name}")
    return paths


def use_of(name: str, module: str) -> str | None:
    """Return what has the use of a name of another library, or of a wrong spelling, first of names of a module."""
    uses = _paths(module) | _INSTEAD
    return uses.get(name) or _in_sklearn(name) or _found(name, uses)


def _found(name, uses):
    """Return the use of the first name with the nearest spelling; None if none is near."""
    same = {_folded(each): use for each, use in reversed(uses.items())}
    near = difflib.get_close_matches(_folded(name), same, 1, 0.75)
    return same[near[0]] if near else None


def _name_of_module(module, name):
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    return f"{text}; {_used(use_of(name, module)) or _listed(import_module(module).__all__, name)}"


def _name_of_object(cls, name):
    text = f"{cls.__name__} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    if hasattr(cls, "vjp"):
        names = [*cls.__match_args__, "diag", "get_params", "resolve", "tags"]
        return f"{text}; its values are kernel(X, Z); {_listed(names)}"
    names = _attributes(cls)
    if name in names:
        return f"{text} yet; call fit, with the parameters that it needs"
    own = _first(_OF_CLASSES, [f"{each}.{name}" for each in _owners(cls)])
    use = _used(own or _found(name, names | _ATTRIBUTES)) or _holders(name)
    return f"{text}; {use or _used(_in_sklearn(name)) or _listed(names, name)}"


def _used(use):
    return f"use {use}" if use else ""


def _listed(names, wanted=""):
    """Return which names there are; of more than a dozen those whose spelling is near a wanted one."""
    near = names
    if wanted and len(names) > 12:
        near = difflib.get_close_matches(wanted, names, 5, 0.5)
        if not near:
            return f"dir() lists its {len(names)} names"
    return f"it has {', '.join(near) or 'none'}"


def _holders(name):
    """Return which estimators have a parameter, method or attribute; empty if none has."""
    estimators = vars(sys.modules["mercer.estimators"]).items()
    have = [each for each, cls in estimators if isinstance(cls, type) and name in _attributes(cls)]
    return f"{', '.join(have)} {'have' if have[1:] else 'has'} it" if have else ""


def _attributes(cls):
    """Return the names with an underscore at their end of the docstring of a class, its fields and its methods."""
    documented = re.findall(r"\b[a-zA-Z]\w+_\b", cls.__doc__ or "")
    own = [*getattr(cls, "__match_args__", ()), *dir(cls)]
    own = [each for each in own if not each.startswith(("_", "set_", "get_"))]
    return {each: each for each in [*documented, *own]}


def _in_sklearn(name):
    """Return the path of a public name of scikit-learn, or what has the use of names that begin so, or None."""
    for path in ["sklearn", *(f"sklearn.{each}" for each in sklearn.__all__)]:
        if find_spec(path) and name in getattr(import_module(path), "__all__", ()):
            return f"{path}.{name}"
    return next((use for begun, use in _BEGINNINGS.items() if re.match(begun, name)), None)
