"""First lines as people type them by mistake: the message alone holds the repair."""

import ast
import copy
import importlib.util
import inspect
import pickle
import re
import traceback
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.stats
import sklearn.calibration
import sklearn.compose
import sklearn.pipeline
import sklearn.preprocessing
from sklearn.model_selection import GridSearchCV

import mercer
import mercer as mc
from mercer.cli import main

X = np.random.default_rng(0).normal(size=(12, 3))
Y = (X[:, 0] > 0).astype(int)
T = 1.3 * X[:, 0]
NAMES = {
    "mc": mc,
    "mercer": mercer,
    "np": np,
    "X": X,
    "Y": Y,
    "T": T,
    "Z": X[:5],
    "GridSearchCV": GridSearchCV,
    "K": X @ X.T,
    "TABLE": pd.DataFrame({"a": T, "city": np.where(Y == 1, "Rome", "Oslo")}),
    "DATES": pd.DataFrame({"a": T, "when": pd.date_range("2024-01-01", periods=12)}),
    "SPARSE": sp.csr_matrix(X),
    "WORDS": ["ACGT", "GGTA"] * 6,
    "PSI": mc.mean(mc.features(mc.Gaussian(0.2), X)),
    "PREIMAGE": mc.preimage(mc.mean(mc.features(mc.Gaussian(0.2), X))),
    "scipy": scipy,
    "sklearn": sklearn,
    "GRAPH": type("Graph", (list,), {"nodes": ()})(range(12)),
}

# Lines that raise, and the part of the message that repairs them; what follows "write " there is a line that runs.
LINES = {
    "mc.SVR(kernel='poly', gamma=0.5, shrinking=True)": "write mercer.SVR(kernel='poly', gamma=0.5).",
    "mc.SVC(C=10, cache_size=200, shrinking=False)": "write mercer.SVC(C=10, memory='200MB').",
    "mc.SVC(probability=True)": "use mercer.SVCCV(calibration='sigmoid'), which mercer.save takes, or sklearn",
    "mc.SVC(probability=True, C=10)": "write sklearn.calibration.CalibratedClassifierCV(mercer.SVC(C=10)).",
    "mc.SVC(probability=False, C=10)": "write mercer.SVC(C=10).",
    "mc.SVC(c=1)": "write mercer.SVC(C=1).",
    "mc.SVC(Kernel='rbf')": "write mercer.SVC(kernel='rbf').",
    "mc.SVC(1.0, 'rbf')": "max_vectors=None): too many positional arguments; give those after * by name",
    "mc.SVC(1.0, 'rbf', gamma=0.1)": "max_vectors=None): too many positional arguments; give those after * by name",
    "mc.SVC(sigma=2.0)": "write mercer.SVC(gamma=1/(2*2.0**2)).",
    "mc.SVC(classweight='balanced')": "write mercer.SVC(class_weight='balanced').",
    "mc.SVC(n_jobs=4)": "write mercer.SVC().",
    "mc.SVC(verbose=True, C=2)": "write mercer.SVC(C=2).",
    "mc.SVC(colour='red')": "SVC has no parameter colour; it has C, kernel, gamma, degree",
    "mc.SVC(nu=0.1)": "NuSVC, NuSVR and OneClassSVM have it",
    "mc.SVR(C=1, eps=0.1)": "write mercer.SVR(C=1, epsilon=0.1).",
    "mc.NuSVR(0.5, 10)": "max_iter=-1, C=1.0): too many positional arguments; give those after * by name",
    "mc.SVCCV({'C': [1, 10], 'gamma': [0.1]})": "labels='decision'): got {'C': [1, 10], 'gamma': [0.1]}; give those "
    "after * by name",
    "mc.KernelPCA(2, 0.2)": "centre=True): too many positional arguments; give those after * by name",
    "mc.compress(mc.SVC().fit(X, Y), to=5)": "n_vectors=5).",
    "mc.SVR(loss='quantile').fit(X, T)": "for quantiles use mercer.QuantileSVR",
    "mc.features(X, mc.Gaussian(1.0))": "kernel must be a Kernel, such as mercer.Gaussian(0.5), got an array of "
    "shape (12, 3) of type ndarray; it stands before points",
    "mc.SVCCV(Cs=[1.0], cv=2).fit(X, Y).predict_proba(X)": "fit SVCCV(calibration='sigmoid')",
    "mc.hsic_test(TABLE['a'], TABLE['a'])": "numpy.reshape(column, (-1, 1))",
    "mc.SVC().fit(X * np.nan, Y)": "use mercer.TableClassifier or TableRegressor",
    "mc.NuSVC(C=1.0)": "SVC, SVR, NuSVR and SVDD have it; NuSVC and OneClassSVM have nu",
    "mc.OneClassSVM(contamination=0.1)": "write mercer.OneClassSVM(nu=0.1).",
    "mc.KernelRidge(normalize_y=True)": "write sklearn.compose.TransformedTargetRegressor(mercer.KernelRidge(), "
    "transformer=sklearn.preprocessing.StandardScaler()).",
    "mc.KernelRidge(lambda_=0.1, kernel='rbf')": "write mercer.KernelRidge(alpha=0.1, kernel='rbf').",
    "mc.KernelRidge(1.0, 'rbf')": "free=None): too many positional arguments; give those after * by name",
    "mc.KernelPCA(2, fit_inverse_transform=True, kernel='rbf')": "write mercer.KernelPCA(2, kernel='rbf').",
    "mc.KernelPCA(n_component=2)": "write mercer.KernelPCA(n_components=2).",
    "mc.Nystroem('rbf', n_jobs=2, gamma=0.1)": "write mercer.Nystroem('rbf', gamma=0.1).",
    "mc.SVCCV(C=1.0)": "write mercer.SVCCV(Cs=[1.0]).",
    "mc.SVCCV(gamma=0.3, C=[1.0, 2.0])": "write mercer.SVCCV(gamma=0.3, Cs=[1.0, 2.0]).",
    "mc.SVCCV(gammas=['scale', 0.1]).fit(X, Y)": "write gammas=[0.1], or for a rule gamma='scale' without gammas.",
    "mc.SVCCV(Cs=1.0).fit(X, Y)": "write Cs=[1.0].",
    "mc.SVCCV(gamma=0.1, gammas=[0.1, 1.0]).fit(X, Y)": "leave gamma out, or add its value to gammas",
    "mc.SVC(kernel=mc.Gaussian(0.1), gamma=0.2).fit(X, Y)": "or write kernel='rbf', gamma=0.2.",
    "mc.SVC(kernel=('rbf', 0.1)).fit(X, Y)": "write kernel='rbf', gamma=0.1, or an object such as mercer.Gaussian(0.1)",
    "mc.SVC(kernel=mc.Gaussian).fit(X, Y)": "pass Gaussian().",
    "mc.SVC(kernel='RBF').fit(X, Y)": "give 'rbf'",
    "mc.SVC(kernel='gaussian').fit(X, Y)": "give 'rbf'",
    "mc.SVC(gamma='0.1').fit(X, Y)": '"scale", "auto", "median" or a positive number',
    "mc.SVC(gamma=-1).fit(X, Y)": "gamma = -1 must be above 0",
    "mc.SVC(C='10').fit(X, Y)": "C must be a number, got '10' of type str",
    "mc.NuSVC(nu=2).fit(X, Y)": "nu = 2 must be at most 1",
    "mc.SVC(class_weight='auto').fit(X, Y)": "'balanced' or None",
    "GridSearchCV(mc.SVC(), {'kernel': ['rbf', 'linear'], 'kernel__gamma': [0.1]}, cv=2, error_score='raise')"
    ".fit(X, Y)": "write gamma=0.1 without kernel__, also in grids",
    "GridSearchCV(mc.SVC(), {'cache_size': [100]}, cv=2, error_score='raise').fit(X, Y)": "use memory",
    "mc.mmd_test(X, Z, gamma=0.1)": "write mercer.mmd_test(X, Z, kernel=mercer.Gaussian(gamma=0.1)).",
    "mc.hsic_test(X, X, gamma=0.1)": "write mercer.hsic_test(X, Y, kernel_x=mercer.Gaussian(gamma=0.1), "
    "kernel_y=mercer.Gaussian(gamma=0.1)).",
    "mc.svc_path(X, Y, [1.0], kernel='poly', degree=2)": "mercer.Polynomial(degree=2, gamma='scale', coef0=0.0)",
    "mc.SVR().fit(X, T).predict(X, return_std=True)": "return_std; mercer.KernelRidge() has "
    "predict(X, return_std=True)",
    "mc.SVC().fit(X, T)": "write mercer.SVR().",
    "mc.SVCCV().fit(X, T)": "write mercer.SVRCV().",
    "mc.KernelFisher().fit(X, T)": "write mercer.KernelRidge().",
    "mc.SVR().fit(X, ['a', 'b'] * 6)": "for labels use a classifier, such as SVC",
    "mc.TableClassifier().fit(TABLE, T)": "write mercer.TableRegressor().",
    "mc.TableRegressor().fit(TABLE, TABLE['city'])": "for labels use a classifier, such as TableClassifier",
    "mc.TableClassifier().fit(TABLE['a'], Y)": "X must be a table (a pandas DataFrame, an array (n, d) or a list of "
    "rows), got Series.",
    "mc.SVC().fit(X, Y).predict(X[0])": "or one point as a row, X.reshape(1, -1), and if y is given",
    "mc.SVC().fit(TABLE[['a']].convert_dtypes().replace(T[0], None), Y)": "or use mercer.TableClassifier",
    "mc.formats.to_c(mc.SVC().fit(X, Y), 'model.onnx')": "name a file of C, such as model.c",
    "mc.formats.to_onnx(mc.KernelFisher().fit(X, Y))": "TableClassifier, SVCCV, OneClassSVM and SVDD",
    "mc.formats.to_onnx(mc.SVC(kernel=lambda x, z: x @ z.T).fit(X, Y))": "joblib Python functions",
    "mc.SVC().fit(X, Y).predict_proba(X)": "use mercer.SVCCV(calibration='sigmoid')",
    "mc.SVC(kernel='precomputed').fit(X @ X.T, Y).predict(X[:5] @ X[:5].T)": "with all 12 training points; write K = "
    "kernel(X_test, X_train).",
    "mc.SVC(kernel='precomputed').fit(X, Y)": "must be the square matrix of kernel values between all training points",
    "mc.SVC().fit(X, Y).coef_": "coef_ needs kernel = 'linear'",
    "mc.SVC().fit(X, Y[:5])": "X has 12 rows, y has 5",
    "mc.SVC().fit([['a', 'b'], ['c', 'd']], [0, 1])": "OneHotEncoder",
    "mc.SVC().predict(X)": "Call 'fit'",
    "mc.Gaussian(sigma=1.0)": "use gamma = 1/(2*sigma**2)",
    "mc.compress('old.joblib', X, Y, n_vectors=3)": "write mercer.compress(joblib.load(path), ...)",
    "mc.compress(mc.SVC().fit(X, Y))": "n_vectors and max_loss are both None; give at least one of them",
    "mc.RBF(1.0)": "use mercer.Gaussian(1 / (2 * length_scale**2))",
    "mc.kernels.RBF(1.0)": "use mercer.Gaussian(1 / (2 * length_scale**2))",
    "mc.kernels.WhiteKernel(0.1)": "use alpha of mercer.KernelRidge, the variance of the noise",
    "mc.kernels.gaussian(0.1)": "use mercer.Gaussian",
    "mc.SVC().fit(X, np.array(Y, dtype=object))": "convert them, such as by y.astype(int)",
    "mc.plan(mc.KernelRidge(), 1000)": "d = None must be a number of features with n = 1000; give both, or X.",
    "mc.svm.SVC()": "use mercer.SVC, mercer.SVR",
    "mc.LinearSVC()": "use mercer.SVC(kernel='linear')",
    "mc.GaussianProcessRegressor()": "use mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')",
    "mc.to_onnx(mc.SVC().fit(X, Y))": "use mercer.formats.to_onnx",
    "mc.Kernelpca(2)": "use mercer.KernelPCA",
    "mc.PCA(2)": "use mercer.KernelPCA(n_components, kernel='linear'), or sklearn.decomposition.PCA",
    "mc.GPR()": "use mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')",
    "mc.GaussianProcess()": "use mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')",
    "mc.WhiteKernel(0.1)": "use alpha of mercer.KernelRidge, the variance of the noise",
    "mc.ConstantKernel(2.0)": "use a number, as in 2.0 * mercer.Gaussian(0.5)",
    "mc.ScaleKernel(mc.Gaussian(1.0))": "use a factor, as in 2.0 * mercer.Gaussian(0.5)",
    "mc.DotProduct()": "use mercer.Linear() + sigma_0**2",
    "mc.KernelSVM()": "use mercer.SVC() to classify, mercer.SVR() for regression",
    "mc.svm_train(Y, X, '-c 4')": "use mercer.SVC(C=1.0, kernel='rbf', gamma=0.1).fit(X, y)",
    "mc.preprocessing.StandardScaler()": "use sklearn.preprocessing",
    "mc.metrics.accuracy_score(Y, Y)": "use sklearn.metrics",
    "mc.pairwise_kernels(X)": "use a kernel as a function, mercer.Gaussian(gamma)(X, Z)",
    "mc.SVC(X, Y)": "give those after * by name, and data to fit, as in mercer.SVC(1.0, kernel='rbf').fit(X, y).",
    "mc.SVC.fit(X, Y)": "fit is called on the class; make an object of it first, as in Class().fit(...).",
    "mc.SVC().fit(X, Y).save('svc')": "use mercer.save(model, path)",
    "mc.SVC().fit(X, Y).alpha_": "use dual_coef_",
    "mc.SVC().fit(X, Y).w": "use coef_, for kernel='linear', or expansion_",
    "mc.KernelPCA(2).fit(X).alphas_": "use eigenvectors_",
    "mc.KernelPCA(2).fit(X).lambdas_": "use eigenvalues_",
    "mc.KernelPCA(2).fit(X).X_fit_": "use expansion_.points",
    "mc.KernelPCA(2).fit(X).X_transformed_fit_": "use inverse_transform, which searches pre-images",
    "mc.KernelRidge().fit(X, X[:, 0]).X_fit_": "use expansion_.points",
    "mc.Nystroem(n_components=3).fit(X).components_": "use landmarks_",
    "mc.Nystroem(n_components=3).fit(X).component_indices_": "use landmarks_",
    "mc.Nystroem(n_components=3).fit(X).normalization_": "use expansion_",
    "mc.SVC().fit(X, Y).fit_status_": "use certificate_",
    "mc.SVC().fit(X, Y).shape_fit_": "use n_features_in_",
    "mc.KernelPCA(2).fit(X).explained_variance_": "use eigenvalues_ / (n - 1), or explained_variance_ratio_",
    "mc.KernelRidge(noise=0.1)": "write mercer.KernelRidge(alpha=0.1).",
    "mc.KernelRidge(kernel='rbf', optimizer=None)": "tune='marginal_likelihood' or 'loo' chooses the parameters",
    "mc.QuantileSVR(tau=0.5)": "write mercer.QuantileSVR(quantile=0.5).",
    "mc.OneClassSVM(outliers=0.1)": "write mercer.OneClassSVM(nu=0.1).",
    "mc.SVCCV(param_grid={'C': [1, 10]})": "give the values as in mercer.SVCCV(Cs=[1, 10], gammas=[0.1, 1])",
    "mc.Matern(length_scale=1.0, nu=1.5)": "use length: write mercer.Matern(length=1.0, nu=1.5).",
    "mc.Gaussian(lengthscale=1.0)": "use gamma = 1/(2*lengthscale**2)",
    "mc.TableRegressor(kernel='rbf')": "TableRegressor has no parameter kernel; KernelFisher, KernelMap",
    "mc.formats.to_onnx(mc.SVC)": "SVC is a class; give a fitted model, SVC().fit(X, y).",
    "mc.SVR().fit(X, np.column_stack([T, T]))": "for several targets use mercer.KernelRidge, or "
    "sklearn.multioutput.MultiOutputRegressor(mercer.SVR())",
    "mc.SVM()": "use mercer.SVC() to classify, mercer.SVR() for regression",
}

# Lines of all kinds that people typed, and the words that repair them.
OTHER_LINES = {
    # names of modules
    "from mercer.svm import SVC": "write from mercer import SVC",
    "from mercer.metrics.pairwise import rbf_kernel": "names of Mercer are in mercer itself",
    "mc.train(X, Y)": "use mercer.SVC() to classify, mercer.SVR() for regression",
    "mc.ksvm(X, Y)": "use mercer.SVC() to classify, mercer.SVR() for regression",
    "mc.rbfdot(sigma=0.1)": "use mercer.Gaussian(sigma), whose gamma is the sigma of kernlab",
    "mc.polydot(degree=3)": "use mercer.Polynomial(degree, gamma=scale, coef0=offset)",
    "mc.SVC(cost=10, sigma=0.1)": "write mercer.SVC(C=10, gamma=1/(2*0.1**2)).",
    "mc.SVC(device='cuda')": "give arrays on the device, fit(torch.tensor(X, device='cuda'), y); docs/guide/gpu.md",
    "mc.compress(mc.SVC().fit(X, Y), 10)": "write mercer.compress(model, X, y, n_vectors=10)",
    "from mercer.kernels import RBF": "use mercer.Gaussian(1 / (2 * length_scale**2))",
    "from mercer.kernels import GaussianKernel": "use mercer.Gaussian",
    "from mercer.kernels import PolynomialKernel": "use mercer.Polynomial",
    "from mercer import KernelRidgeRegression": "use mercer.KernelRidge",
    "from mercer import SupportVectorRegressor": "use mercer.SVR",
    "from mercer.estimators import SupportVectorMachine": "use mercer.SVC() to classify",
    "from mercer.strings import SubstringKernel": "use mercer.strings.Spectrum, as in Spectrum(3), or Subsequence",
    "from mercer.strings import SpectrumKernel": "use mercer.strings.Spectrum",
    "from mercer.graphs import ShortestPathKernel": "use mercer.graphs.ShortestPath",
    "from mercer.sets import WassersteinKernel": "it has MeanMap, MinMax, Overlap, Tanimoto",
    "from mercer.sequences import DTW": "use mercer.sequences.GlobalAlignment",
    "from mercer.formats import to_pmml": "use mercer.formats.to_onnx, to_c or write_libsvm",
    "from mercer.formats import to_coreml": "use mercer.formats.to_onnx, to_c or write_libsvm",
    "from mercer.maps import RandomFourierFeatures": "use mercer.maps.random_fourier",
    "from mercer.capacity import vc_dimension": "it has effective_dimension, vc_margin, vc_bound",
    "mc.kernels.linear_kernel": "use mercer.Linear()(X, Z)",
    "mc.polynomial_kernel(X, X)": "use mercer.Polynomial",
    "mc.kernels.ExpSineSquared(1.0)": "use mercer.Periodic(period, length)",
    "mc.strings.Levenshtein()": "use mercer.strings.Subsequence",
    "mc.graphs.WL()": "use mercer.graphs.WeisfeilerLehman",
    "mc.SVM_RBF": "use mercer.SVC() to classify",
    "mc.KernelKMeans(3)": "use mercer.Kernelized(sklearn.cluster.KMeans(3), kernel='rbf')",
    "mc.StandardScaler()": "use sklearn.preprocessing.StandardScaler",
    "mc.train_test_split(X, Y)": "use sklearn.model_selection.train_test_split",
    "mc.KernelDensity(bandwidth=0.2)": "use sklearn.neighbors.KernelDensity",
    "mc.cross_val_score(mc.SVC(), X, Y)": "use sklearn.model_selection.cross_val_score",
    "mc.dump(mc.SVC(), 'x.joblib')": "use mercer.save(model, path)",
    "mc.DMatrix(X, label=Y)": "use arrays, as in mercer.SVC().fit(X, y)",
    "mc.get_kernel('rbf')": "use a kernel, such as mercer.Gaussian(0.1)",
    "mc.Nystrom(100)": "use mercer.Nystroem",
    "mc.ThunderSVM()": "dir() lists its 69 names",
    # attributes and methods
    "mc.SVC().alphas_": "use dual_coef_",
    "mc.KernelPCA().alphas_": "use eigenvectors_",
    "mc.KernelPCA().lambdas": "use eigenvalues_",
    "mc.KernelPCA().components_": "use expansion_, the components",
    "mc.KernelPCA().n_features_": "use n_features_in_",
    "mc.KernelPCA().predict(X)": "use transform, and an estimator after it",
    "mc.KernelRidge().coef_": "use dual_coef_, or expansion_",
    "mc.KernelRidge().resid": "use loo_residuals_ of mercer.KernelRidge, or y - model.predict(X)",
    "mc.KernelRidge().conf_int(X)": "use predict_interval(X, confidence=0.9)",
    "mc.KernelRidge().summary()": "use score(X, y), or mercer.certify(model, X, y)",
    "mc.KernelPCA().get_covariance()": "KernelPCA has no attribute 'get_covariance'; it has ",
    "mc.SVR().predict_interval(X)": "use mercer.KernelRidge or mercer.TableRegressor",
    "mc.conformal": "use predict_interval(X) of mercer.KernelRidge",
    "mc.rff": "use mercer.maps.random_fourier",
    "mc.KernelRidgeCV()": "use mercer.KernelRidge(tune='loo')",
    "mc.KernelRidge(alphas=[0.1, 1])": "write mercer.KernelRidge(tune='loo').",
    "mc.KernelRidge(fit_intercept=True)": "write mercer.KernelRidge(free='constant').",
    "mc.KernelRidge(fit_intercept=False)": "write mercer.KernelRidge().",
    "mc.SVRCV(epsilons=[0.1], cv=2)": "write sklearn.model_selection.GridSearchCV(mercer.SVRCV(cv=2), "
    "dict(epsilon=[0.1])).",
    "mc.SVC().feature_importances_": "use sklearn.inspection.permutation_importance(model, X, y)",
    "mc.SVC().best_params_": "SVCCV, SVRCV have it",
    "mc.SVC().cv_results_": "SVCCV, SVRCV have it",
    "mc.SVC().to('cuda')": "docs/guide/gpu.md says what runs there",
    "mc.SVC().partial_fit(X, Y)": "KernelPerceptron have it",
    "mc.SVC().predict_log_proba(X)": "numpy.log of predict_proba(X) of mercer.SVCCV(calibration='sigmoid')",
    "mc.SVC().fit_predict(X)": "use fit(X, y).predict(X)",
    "mc.SVC().transform(X)": "KernelFisher, KernelMap, KernelPCA, Kernelized, Nystroem, PCAL1 have it",
    "mc.SVC().cross_validate(X, Y)": "use sklearn.model_selection.cross_validate",
    "mc.SVC().plot()": "use mercer.plot",
    "mc.SVC().n_support": "use n_support_",
    "mc.SVC().support_vector_": "use support_vectors_",
    "mc.SVC().support_": "has no attribute 'support_' yet; call fit",
    "mc.OneClassSVM().predict_proba(X)": "use score_samples(X) or decision_function(X)",
    "mc.Gaussian(0.1).fit(X)": "its values are kernel(X, Z); it has gamma, diag",
    "mc.Gaussian(0.1).theta": "its values are kernel(X, Z); it has gamma, diag, get_params, resolve, tags",
    # arguments of functions, methods and kernels
    "mc.patch_sklearn('SVC')": "patch_sklearn takes (): too many positional arguments; it patches SVC, NuSVC, SVR, "
    "NuSVR, OneClassSVM, KernelPCA, KernelRidge and Nystroem at once; for LinearSVC use SVC(kernel='linear').",
    "mc.KernelRidge().fit(X, T).predict_interval(X, alpha=0.1)": "write predict_interval(X, confidence=1-0.1).",
    "mc.KernelRidge().fit(X, T).predict(X, return_interval=True)": "predict_interval(X, confidence=0.9)",
    "mc.SVC().fit(X, Y, weights=np.ones(12))": "write fit(X, y, sample_weight=sample_weight).",
    "mc.SVC().fit(X, Y, class_weight='balanced')": "SVCCV have it: without class_weight write fit(X, y).",
    "mc.SVC().fit(X, Y, epochs=10)": "it has X, y, sample_weight: without epochs write fit(X, y).",
    "mc.SVC().fit(X)": "SVC.fit takes (X, y, sample_weight=None): missing a required argument: 'y'.",
    "mc.KernelPCA(features=2)": "use n_components: write mercer.KernelPCA(n_components=2).",
    "mc.KernelRidge(reg_lambda=0.1)": "use alpha: write mercer.KernelRidge(alpha=0.1).",
    "mc.SVC().fit(['buy', 'now'], [0, 1])": "use a kernel of objects, such as kernel=mercer.strings.Spectrum(3).",
    "mc.KernelRidge().fit(X, T).predict_interval(X, confidence=90)": "write 0.9 for 90 %.",
    "mc.Gaussian + mc.Linear()": "got 'Gaussian'; write objects, as in mercer.Gaussian(0.5) + mercer.Linear().",
    "mc.Gaussian(0.5) * 'poly'": "got 'poly'; write objects",
    "mc.TableRegressor().fit(X, T, cat_features=[0])": "dtype category are taken as categories: without cat_features "
    "write fit(X, y).",
    "mc.TableRegressor().fit(X, 'price')": "of a table give X.drop(columns=y) and X[y].",
    "mc.SVC().fit(X, Y).score(X)": "SVC.score takes (X, y, sample_weight=None): missing a required argument: 'y'.",
    "mc.compress(mc.SVC().fit(X, Y), X, Y, n=3)": "write mercer.compress(model, X, y, n_vectors=3).",
    "mc.compress(mc.SVC(), data=X, n_components=3)": "write mercer.compress(model, X=X, y=y, n_vectors=3).",
    "mc.mmd_test(X, Z, permutations=100)": "write mercer.mmd_test(X, Z, n_permutations=100).",
    "mc.mmd_test(X, Z, alpha=0.05)": "compare the pvalue of the result with it: without alpha write "
    "mercer.mmd_test(X, Z).",
    "mc.hsic_test(X, X, n_perm=100)": "write mercer.hsic_test(X, Y, n_permutations=100).",
    "mc.ksd_test(X, lambda X: -X, nboot=10)": "n_bootstrap=10",
    "mc.plan(mc.SVC(), n_samples=1000, n_features=10)": "write mercer.plan(estimator, n=1000, d=10).",
    "mc.save(mc.SVC(), filename='m.mercer')": "write mercer.save(model, path='m.mercer').",
    "mc.save(mc.SVC())": "save takes (model, path): missing a required argument: 'path'; one file holds one model.",
    "mc.formats.to_c(mc.SVC())": "to_c takes (model, path, dtype='float64', prefix='model', X=None): missing a "
    "required argument: 'path'.",
    "mc.certify(mc.SVC(), X, Y, tol=1e-3)": "write mercer.certify(model, X, y).",
    "mc.graphs.WeisfeilerLehman(h=3)": "write mercer.graphs.WeisfeilerLehman(iterations=3).",
    "mc.graphs.ShortestPath(normalize=True)": "write mercer.Normalized(mercer.graphs.ShortestPath()).",
    "mc.strings.Spectrum(k=3)": "write mercer.strings.Spectrum(length=3).",
    "mc.strings.Mismatch(k=4, m=1)": "write mercer.strings.Mismatch(length=4, mismatches=1).",
    "mc.Sigmoid(coef=1)": "write mercer.Sigmoid(coef0=1).",
    "mc.Polynomial(power=3)": "write mercer.Polynomial(degree=3).",
    "mc.Laplacian(sigma=2.0)": "write mercer.Laplacian(gamma=1/2.0).",
    "mc.Matern(sigma=1.0)": "write mercer.Matern(length=1.0).",
    "mc.Kernel('rbf')": "kernels with parameters are mercer.Gaussian(0.1)",
    # parameters of estimators
    "mc.Nystroem('rbf', 100)": "n_components=100, landmarks='uniform'): too many positional arguments; give those "
    "after * by name",
    "mc.Nystroem(100)": "n_components=100, landmarks='uniform'): got 100; give those after * by name",
    "mc.KernelPCA('rbf', 2)": "centre=True): got 'rbf'; give those after * by name",
    "mc.SVC('rbf')": "max_vectors=None): got 'rbf'; give those after * by name",
    "mc.SVC(mc.Gaussian(0.3))": "max_vectors=None): got Gaussian(gamma=0.3); give those after * by name",
    "mc.SVR('linear', 1.0, epsilon=0.2)": "loss='epsilon'): got 'linear'; give those after * by name",
    "mc.SVR(T, X)": "give those after * by name, and data to fit, as in mercer.SVC(1.0, kernel='rbf').fit(X, y).",
    "mc.SVC(epsilon=0.1)": "SVR, SVRCV have it",
    "mc.SVR(quantile=0.5)": "QuantileSVR, SVRCV have it",
    "mc.SVC(n_components=2)": "use landmarks: write mercer.SVC(landmarks=2).",
    "mc.KernelRidge(C=2.0)": "use alpha = 1/(2*C): write mercer.KernelRidge(alpha=1/(2*2.0)).",
    "mc.QuantileSVR(alpha=0.9)": "write mercer.QuantileSVR(quantile=0.9).",
    "mc.TableClassifier(target='city')": "fit(X, y) takes it",
    "mc.SVC().set_params(sigma=1.0)": "write mercer.SVC(gamma=1/(2*1.0**2)).",
    # values and data
    "mc.SVC(kernel=mc.Precomputed).fit(K, Y)": "or kernel='precomputed', and fit(K, y)",
    "mc.SVC(kernel=K).fit(X, Y)": "write kernel='precomputed' and fit(K, y)",
    "mc.SVC(kernel=['rbf', 'linear']).fit(X, Y)": "mercer.Gaussian(0.1) + mercer.Linear()",
    "mc.SVC(kernel='rbf+linear').fit(X, Y)": "mercer.Gaussian(0.1) + mercer.Linear()",
    "mc.SVC(kernel='spectrum').fit(X, Y)": "use mercer.strings.Spectrum",
    "mc.SVC(kernel='matern').fit(X, Y)": "use mercer.Matern(length=1.0, nu=1.5), whose length is the scale, or give",
    "mc.SVC(kernel='wl').fit(X, Y)": "use mercer.graphs.WeisfeilerLehman",
    "mc.Gaussian([0.1, 0.2])": "mercer.Mapped scales each feature",
    "mc.SVC(C=[1, 10]).fit(X, Y)": "mercer.SVCCV(Cs=[1, 10], gammas=[0.1, 1]) tries several",
    "mc.SVC().fit(Y, X)": "MultiOutputClassifier(mercer.SVC()); X comes before y.",
    "mc.SVR().fit(T, X)": "if they are swapped, fit(X, y)",
    "mc.SVC().fit(X, np.eye(2)[Y])": "write numpy.argmax(y, axis=1)",
    "mc.mmd_test(X, Y)": "write mmd_test(X[y == 0], X[y == 1])",
    "mc.preimage(mc.KernelPCA(2).fit_transform(X))": "or reconstruct(scores) of a KernelPCA",
    "mc.SVC(kernel=mc.graphs.WeisfeilerLehman()).fit(GRAPH, Y)": "one row or number per point; got Graph",
}


# Lines of people who come from other libraries, and what the message lets them write.
ELSEWHERE = {
    # e1071, kernlab, MATLAB, LIBSVM, scikit-learn, cuML, PyOD
    "mc.SVC(kernel='radial', cost=10, gamma=0.1)": "write mercer.SVC(C=10, kernel='rbf', gamma=0.1).",
    "mc.SVC(kernel='radial').fit(X, Y)": "give 'rbf'",
    "mc.SVC(kernel='tanhdot').fit(X, Y)": "give 'sigmoid'",
    "mc.SVC('vanilladot', 2.0)": "max_vectors=None): got 'vanilladot'; give those after * by name",
    "mc.SVC(kernel='rbfdot', kpar={'sigma': 0.1}, C=5)": "its entries are parameters, gamma for sigma and scale of "
    "kernlab, degree, and coef0 for offset: without kpar write mercer.SVC(C=5, kernel='rbf').",
    "mc.SVC(kernel='polydot', kpar={'degree': 2, 'scale': 0.5, 'offset': 1.0})": "its entries are parameters, gamma "
    "for sigma and scale of kernlab, degree, and coef0 for offset: without kpar write mercer.SVC(kernel='poly').",
    "mc.KernelRidge(kernel='laplacedot', sigma=2.0)": "write mercer.KernelRidge(kernel='laplacian', gamma=1/2.0).",
    "mc.SVC(KernelScale='auto', Standardize=True)": "write "
    "sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), mercer.SVC(gamma='auto')).",
    "mc.SVC(KernelScale=2.0, BoxConstraint=3)": "write mercer.SVC(C=3, gamma=1/2.0**2).",
    "mc.SVC(KernelFunction='gaussian', Standardize=False)": "write mercer.SVC(kernel='rbf').",
    "mc.SVR('-s 3 -t 2 -c 10 -p 0.1')": "loss='epsilon'): got '-s 3 -t 2 -c 10 -p 0.1'; give those after * by name",
    "mc.KernelRidge(lam=0.1, kernel='gaussian', bandwidth=2.0)": "write mercer.KernelRidge(alpha=0.1, kernel='rbf', "
    "gamma=1/(2*2.0**2)).",
    "mc.Nystroem(n_landmarks=20, gamma=0.2)": "use n_components: write mercer.Nystroem(gamma=0.2, n_components=20).",
    "mc.KernelPCA(n_landmarks=20)": "write mercer.KernelPCA(landmarks=20).",
    "mc.SVC(C=1.0, output_type='numpy', handle=None)": "SVC has no parameter output_type, handle; it has C",
    "mc.TableRegressor(n_estimators=200, max_depth=4)": "n_estimators, max_depth; it has n_landmarks, memory, "
    "random_state: without n_estimators and max_depth write mercer.TableRegressor().",
    "mc.SVC(C=1.0, cost=2.0)": "use C: without cost write mercer.SVC(C=1.0).",
    "mc.SVC(cost=1, kernel='no_such_kernel')": "use C; kernel = 'no_such_kernel' must be one of",
    "mc.SVC(cost=1, kernel='wl')": "use C; kernel = 'wl' must be one of",
    "mc.KernelRidge(alpha=0.1, kernel=mc.Gaussian(1.0), optimizer='fmin_l_bfgs_b', n_restarts_optimizer=5)": "of "
    "mercer.KernelRidge: without optimizer and n_restarts_optimizer write mercer.KernelRidge(alpha=0.1, "
    "kernel=mercer.Gaussian(gamma=1.0)).",
    "mc.SVCCV(param_grid={'C': [1, 10], 'gamma': [0.1, 1]}, cv=5)": "give the values as in mercer.SVCCV(Cs=[1, 10], "
    "gammas=[0.1, 1]), or leave them to its search: without param_grid write mercer.SVCCV(cv=5).",
    # widths that are no number
    "mc.SVC(sigma='auto')": "write mercer.SVC(gamma='auto').",
    "mc.SVC(bandwidth='median')": "write mercer.SVC(gamma='median').",
    "mc.SVC(sigma=0)": "as in kernlab; gamma = 0 must be above 0.",
    "mc.SVC(length_scale=[1, 2])": "use gamma = 1/(2*length_scale**2); gamma must be a number, got [1, 2] of type "
    "list; mercer.SVCCV(gammas=[0.1, 1]) tries several, mercer.Mapped scales each feature, as in "
    "mercer.Mapped(mercer.Gaussian(1.0), numpy.sqrt(gammas)).",
    "mc.Gaussian(sigma=np.ones(4))": "gamma must be a number, got array([1., 1., 1., 1.]) of type ndarray; "
    "mercer.SVCCV(gammas=[0.1, 1]) tries several, mercer.Mapped scales each feature, as in "
    "mercer.Mapped(mercer.Gaussian(1.0), numpy.sqrt(gammas)).",
    # modules and names
    "from mercer.svm import SVC, LinearSVC": "for LinearSVC mercer.SVC(kernel='linear')",
    "from mercer.kernel_approximation import RBFSampler": "for RBFSampler mercer.maps.random_fourier(",
    "from mercer.gaussian_process import GaussianProcessRegressor": "mercer.KernelRidge(kernel='rbf', "
    "tune='marginal_likelihood') for GaussianProcessRegressor",
    "from mercer.decomposition import KernelPCA": "use mercer.KernelPCA",
    "from mercer.preprocessing import StandardScaler": "use sklearn.preprocessing",
    "from mercer.kernels import RBF, WhiteKernel": "'WhiteKernel'; use alpha of mercer.KernelRidge, the variance",
    "mc.RBFKernel(ard_num_dims=4)": "use mercer.Gaussian(1 / (2 * length_scale**2))",
    "mc.ScaleKernel(mc.RBFKernel(ard_num_dims=4))": "mercer.learn_scales",
    "mc.to_onnx(model, 'm.onnx')": "onnx.save(mercer.formats.to_onnx(model), path)",
    "mc.save_model(model, path)": "use mercer.save(model, path)",
    "mc.load_model(path)": "use mercer.load(path)",
    "mc.SVC().save_model('m.json')": "use mercer.save(model, path)",
    "mc.SVC().save_weights('m.h5')": "use mercer.save(model, path)",
    "mc.SVC().load_model('m.json')": "use mercer.load(path)",
    "mc.SVC().export('m.onnx')": "onnx.save(mercer.formats.to_onnx(model), path)",
    "mc.SVC().to_json()": "or mercer.save(model, path)",
    # functions and methods
    "mc.maps.random_fourier(1.0)": "random_fourier takes (kernel, n_features_in, m, *, orthogonal=False, "
    "memory='1GB', random_state=None): missing a required argument: 'n_features_in'; a kernel is an object, as "
    "mercer.Gaussian(1.0).",
    "mc.mean(X, mode='median')": "it has phi, weights: without mode write mercer.mean(phi).",
    "mc.unpatch_sklearn('SVC')": "unpatch_sklearn takes (): too many positional arguments.",
    "mc.patch_sklearn('LinearSVC')": "it patches SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelPCA, KernelRidge and "
    "Nystroem at once; for LinearSVC use SVC(kernel='linear')",
    "mc.certify(mc.SVC().fit(X, Y))": "certify takes (model, X, y=None, sample_weight=None): missing a required "
    "argument: 'X'; X and y are the training data.",
    "mc.compress(mc.SVC().fit(X, Y), X, Y, ratio=0.5)": "write mercer.compress(model, X, y, n_vectors=0.5).",
    "mc.compress(mc.SVC().fit(X, Y), X, Y, 3)": "compress takes (model, X=None, y=None, *, n_vectors=None, "
    "max_loss=None, method=None, shared=True, threshold='train', holdout=None, neighbours=None, random_state=None, "
    "callback=None): too many positional arguments.",
    "mc.hsic_test(X, T[:5])": "X has 12 points and Y has 5",
    "mc.SVC().fit(X, Y).predict(X, return_std=True)": "mercer.SVCCV(calibration='sigmoid') has predict_proba(X)",
    # kernels
    "mc.Gaussian(1.0) - mc.Linear()": "need not be a kernel; combine them by +, * and **, and by positive factors",
    "1.0 - mc.Gaussian(1.0)": "need not be a kernel",
    "mc.Gaussian(1.0) / 2.0": "as in 0.5 * kernel",
    "mc.Gaussian(1.0, active_dims=[0, 1])": "write mercer.Mapped(mercer.Gaussian(1.0), numpy.r_[[0, 1]]).",
    "mc.Gaussian(1.0, active_dims=slice(0, 2))": "write mercer.Mapped(mercer.Gaussian(1.0), numpy.r_[slice(0, 2, None)"
    "]).",
    "mc.on_columns(mc.Gaussian(1.0), [0, 1]) * mc.Periodic(7.0)": "mercer.on_columns(kernel, columns) makes kernels of "
    "a table of those of rows",
    "GridSearchCV(mc.SVC(kernel=mc.Gaussian(1.0)), {'kernel__length_scale': [0.5]}, cv=2, error_score='raise')"
    ".fit(X, Y)": "use gamma = 1/(2*length_scale**2): write mercer.Gaussian(gamma=1/(2*0.5**2)).",
    # fresh ones
    "mc.SVC(kernel='Gaussian', regularization=10)": "write mercer.SVC(C=10, kernel='rbf').",
    "mc.SVR(kernel_type='poly', kernel_degree=2, tube=0.2)": "write mercer.SVR(kernel='poly', degree=2, epsilon=0.2).",
    "mc.Polynomial(order=3, bias=1)": "write mercer.Polynomial(degree=3, coef0=1).",
    "mc.Periodic(length_scale=1.0, periodicity=3.0)": "write mercer.kernels.Periodic(period=3.0, length=1.0).",
    "mc.Gaussian(variance=2.0, lengthscale=0.5)": "write 2.0 * mercer.Gaussian(gamma=1/(2*0.5**2)).",
    "mc.SVCCV(n_folds=3, param_distributions={'C': [1, 2]})": "give the values as in mercer.SVCCV(Cs=[1, 10], "
    "gammas=[0.1, 1]), or leave them to its search: without param_distributions write mercer.SVCCV(cv=3).",
    "mc.KernelPCA(n_comps=2)": "write mercer.KernelPCA(n_components=2).",
    "mc.Nystroem(n_features=5)": "write mercer.Nystroem(n_components=5).",
    "mc.KernelRidge(l2=0.1)": "write mercer.KernelRidge(alpha=0.1).",
    "mc.kernel_pca(X, 2)": "use mercer.KernelPCA",
    "mc.combine([mc.Gaussian(1.0), mc.Linear()])": "combine takes (kernels, X, y, method='loo', C=1.0): missing a "
    "required argument: 'X'; kernels are a list, as in mercer.combine([mercer.Gaussian(0.1), mercer.Linear()], X, "
    "y); models are combined by VotingClassifier and StackingClassifier of sklearn.ensemble.",
    "mc.SVC().fit(X, Y).score()": "SVC.score takes (X, y, sample_weight=None): missing a required argument: 'X'.",
    "mc.SVC().fit(X, Y).predict(X, proba=True)": "mercer.SVCCV(calibration='sigmoid') has predict_proba(X)",
    "mc.SVC().fit(X, Y).rho": "use intercept_",
    "mc.SVC().fit(X, Y).sv_": "use support_vectors_",
    # data
    "mc.SVC().fit(TABLE, Y)": "X[0, 1], column 'city', of type str must be a number: could not convert string to "
    "float; mercer.TableClassifier and mercer.TableRegressor take tables with texts",
    "mc.SVR().fit(DATES, T)": "column 'when' of X must hold real numbers, got dates or durations, dtype datetime64",
    "mc.SVC().fit(SPARSE, Y).predict(SPARSE[:, :2])": "load_svmlight_file(path, n_features=3)",
    "mc.SVC(kernel=mc.graphs.WeisfeilerLehman()).fit([[(0, 1), (1, 2)]] * 12, Y)": "a list of edges as "
    "networkx.Graph(edges)",
    "mc.graphs.Graph([(0, 1), (1, 0)])": "rows are lists, got tuples; kernels take a list of edges as networkx.Graph",
    "mc.graphs.Graph([[0, 1], [1, 2], [2, 3]])": "kernels take a list of edges as networkx.Graph(edges)",
    "mc.SVC(kernel='wl').fit([[(0, 1), (1, 2)]] * 12, Y)": "whose points are networkx.Graph(edges)",
}
# Lines of a stranger who knew the words of the field.
STRANGE = {
    # a line that a message writes runs, and keeps what was given
    "mc.mmd(mc.Gaussian(0.2), X, Z)": "mmd takes (phi, chi): too many positional arguments; phi and chi are features "
    "of points, as mercer.features(kernel, X).",
    "mc.svd(K)": "svd takes (phi, n, centre=True, *, memory='1GB', random_state=None): missing a required argument: "
    "'n'; phi and chi are features of points, as mercer.features(kernel, X).",
    "mc.lstsq(X, T)": "lstsq takes (phi, Y, ridge, *, memory='1GB', random_state=None): missing a required argument: "
    "'ridge'; phi and chi are features of points, as mercer.features(kernel, X).",
    "mc.combine(mc.Gaussian(0.1), mc.Linear())": "combine takes (kernels, X, y, method='loo', C=1.0): missing a "
    "required argument: 'y'; kernels are a list, as in mercer.combine([mercer.Gaussian(0.1), mercer.Linear()], X, "
    "y); models are combined by VotingClassifier and StackingClassifier of sklearn.ensemble; X must be a list or "
    "an array, with one row or number per point; got Linear.",
    "mc.svc_path(X, Y, mc.Gaussian(0.2), [1, 10])": "svc_path takes (X, y, Cs, *, kernel, tol=0.001, "
    "class_weight=None, sample_weight=None, multi_class='ovo', memory='1GB'): too many positional arguments.",
    "mc.mmd_test(mc.Gaussian(0.2), X, Z)": "X must be a list or an array, with one row or number per point; got "
    "Gaussian",
    "mc.mmd_test(X=X, Y=Z)": "use Z: write mercer.mmd_test(X=X, Z=Z).",
    "mc.mmd_test(X, Z, kernel='rbf', sigma=1.0)": "write mercer.mmd_test(X, Z, "
    "kernel=mercer.Gaussian(gamma=1/(2*1.0**2))).",
    "mc.SVCCV(C=[1, 10], gamma=[0.1, 1])": "use Cs = [C]; gamma must be a number, got [0.1, 1] of type list; "
    "mercer.SVCCV(gammas=[0.1, 1]) tries several",
    "mc.SVCCV(Cs='auto').fit(X, Y)": "write Cs=10.",
    "mc.SVC(kernel=mc.strings.Spectrum).fit(WORDS, Y)": "pass Spectrum(length).",
    "mc.SVC(kernel=mc.strings.Spectrum(3), gamma=0.1).fit(WORDS, Y)": "leave gamma out, ",
    "mc.SVC(kernel='string').fit(WORDS, Y)": "use mercer.strings.Spectrum, as in Spectrum(3), or Subsequence",
    "mc.Gram(X)": "Gram takes (kernel, X, Z=None, memory='1GB'): missing a required argument: 'X'.",
    "mc.Gaussian(X, Z)": "Gaussian takes (gamma='scale'): too many positional arguments; its values are kernel(X, "
    "Z), and a variance is a factor, as in 2.0 * mercer.Gaussian(0.5).",
    "mc.SVC().fit(zip(X, Y))": "give a list, of pairs X, y = zip(*pairs)",
    "mc.SVC().fit('iris.csv')": "got str; give [X] for one text, columns of pandas.read_csv(path) for a file",
    "mc.SVC().fit('y ~ a + b', TABLE)": "X must be a list or an array, with one row or number per point; got str",
    "mc.SVC().fit(data=X, target='label')": "y must be a list or an array, with one row or number per point; got str",
    "mc.formats.to_c('a.c', mc.SVC().fit(X, Y))": "a path in the place of a model must be that of a LIBSVM text "
    "model",
    "mc.formats.write_libsvm('a.model', mc.SVC().fit(X, Y))": "LIBSVM has no model for str; write_libsvm takes SVC, "
    "NuSVC, SVR, NuSVR",
    "mc.save('a.mercer', mc.SVC().fit(X, Y))": "model must be a fitted estimator of Mercer, a kernel or an "
    "expansion, got str",
    "mc.save(mc.SVC().fit(X, Y), 'a.onnx')": "write onnx.save(mercer.formats.to_onnx(model), path).",
    "mc.graphs.WeisfeilerLehman(label='atom')": "their attribute 'label' in networkx, or labels of mercer.graphs.Graph",
    "mc.graphs.WeisfeilerLehman(node_label='atom')": "their attribute 'label' in networkx, or labels of mercer.graphs",
    "mc.graphs.ShortestPath([GRAPH])": "has no parameters; values are kernel(X, Z) of an object",
    "mc.SVC(loss='squared_hinge')": "leave it out; it is the hinge for SVC",
    "mc.SVRCV(epsilon=[0.1, 1]).fit(X, T)": "sklearn.model_selection.GridSearchCV tries several.",
    "mc.SVCCV(kernel=['rbf', 'linear']).fit(X, Y)": "of several GridSearchCV chooses",
    "mc.KernelRidge(alpha=[0.1, 1.0]).fit(X, T)": "tune='loo' of mercer.KernelRidge chooses one",
    "mc.Gaussian(1, 2.0)": "Gaussian takes (gamma='scale'): too many positional arguments; its values are kernel(X, "
    "Z), and a variance is a factor, as in 2.0 * mercer.Gaussian(0.5).",
    "mc.save(mc.SVC(), mc.SVC(), 'a.mercer')": "save takes (model, path): too many positional arguments; one file "
    "holds one model.",
    "mc.SVC(mc.Normalized(mc.Gaussian(0.1)), cost=2)": "max_vectors=None): got "
    "Normalized(kernel=Gaussian(gamma=0.1)); give those after * by name",
    # errors of Python's own
    "mc.SVC().fit(X, Y).predict(X, Y)": "SVC.predict takes (X): too many positional arguments; score(X, y) compares "
    "with y.",
    "mc.SVC().fit(X, Y).set_params({'C': 1})": "SVC.set_params takes (**params): too many positional arguments; "
    "parameters have names, as in set_params(C=1).",
    "mc.KernelPCA.fit_transform(X)": "fit_transform is called on the class; make an object of it first, as in "
    "Class().fit_transform(...).",
    "mc.SVC.predict(X)": "predict is called on the class; make an object of it first, as in Class().predict(...).",
    "mc.SVC.set_params(C=1)": "set_params is called on the class",
    "mc.SVC().set_params({1: 2})": "SVC.set_params takes (**params): too many positional arguments; parameters have "
    "names, as in set_params(C=1).",
    "mc.features(X, 'rbf')": "kernel must be a Kernel, such as mercer.Gaussian(0.5)",
    "mc.save(X, 'a.mercer')": "model must be a fitted estimator of Mercer, a kernel or an expansion, got ndarray",
    "PREIMAGE[0]": "its attribute points is one",
    "np.asarray(PREIMAGE)": "its attribute points is one",
    "PREIMAGE.x": "PreImage has no attribute 'x'; use points",
    "mc.mmd_test(X, Z).p_value": "KernelTest has no attribute 'p_value'; use pvalue",
    "mc.mmd_test(X, Z) < 0.05": "compare its pvalue",
    "mc.features(mc.Gaussian(0.2), X).mean()": "use mercer.mean(phi)",
    "mc.features(mc.Gaussian(0.2), X) @ mc.features(mc.Gaussian(0.2), X)": "kernel(X, Z) are the inner products",
    "mc.ksd_test(X, scipy.stats.norm)": "write lambda X: -X, for two samples mercer.mmd_test(X, Z).",
    "mc.ksd_test(X, Z)": "for two samples mercer.mmd_test(X, Z).",
    "mc.Normalized('rbf')": "must be a Kernel, got 'rbf'; write an object, such as mercer.Gaussian(0.5).",
    # other words for a parameter keep its value
    "mc.OneClassSVM(nu=0.1, contamination=0.05)": "use nu: without contamination write mercer.OneClassSVM(nu=0.1).",
    "mc.SVDD(outlier_fraction=0.05)": "OneClassSVM has nu; SVDD(C=1 / (nu * n))",
    "mc.SVC(C=1, seed=0)": "write mercer.SVC(C=1, random_state=0).",
    "mc.KernelRidge(kernel='rbf', noise_variance=0.1)": "write mercer.KernelRidge(alpha=0.1, kernel='rbf').",
    "mc.Polynomial(degree=3, c=1)": "write mercer.Polynomial(degree=3, coef0=1).",
    "mc.Sigmoid(alpha=0.1, c=1)": "write mercer.Sigmoid(gamma=0.1, coef0=1).",
    "mc.strings.Subsequence(lambda_=0.5)": "use decay; Subsequence takes (length, decay=0.5): missing a required "
    "argument: 'length'",
    "mc.RationalQuadratic(alpha=1, scale=1)": "write mercer.RationalQuadratic(length=1, alpha=1).",
    "mc.Matern(nu=2.5, gamma=0.1)": "write mercer.Matern(length=(2*0.1)**-0.5, nu=2.5).",
    "mc.Gaussian(0.1, ARD=True)": "mercer.learn_scales finds it",
    "mc.preimage(PSI, n_iter=100)": "method=mercer.FixedPoint(max_iter=100, tol=1e-6) takes it: without n_iter write "
    "mercer.preimage(psi).",
    # names of modules, and of what models have
    "mc.SquaredExponential(1.0)": "use mercer.Gaussian(1 / (2 * length_scale**2))",
    "mc.plot_decision_boundary(model, X, Y)": "use mercer.plot.DecisionBoundaryDisplay.from_estimator(model, X)",
    "mc.SVMClassifier()": "use mercer.SVC",
    "mc.fitcsvm(X, Y)": "use mercer.SVC() to classify",
    "mc.StringKernel(3)": "use mercer.strings.Spectrum, as in Spectrum(3), or Subsequence",
    "mc.Matern52()": "use mercer.Matern(length, nu=2.5)",
    "mc.KRR(alpha=1)": "use mercer.KernelRidge",
    "mc.kernel_matrix(mc.Gaussian(1.0), X)": "use a kernel as a function, mercer.Gaussian(gamma)(X, Z)",
    "mc.KernelCCA(2)": "use sklearn.cross_decomposition.CCA after mercer.KernelPCA",
    "mc.KernelLDA()": "use mercer.KernelFisher",
    "mc.datasets.load_iris()": "use sklearn.datasets.load_iris",
    "mc.MKL([mc.Gaussian(0.1), mc.Linear()])": "use mercer.combine(kernels, X, y)",
    "mc.HSIC(X, X)": "use mercer.hsic_test(X, Y)",
    "mc.two_sample_test(X, Z)": "use mercer.mmd_test(X, Z)",
    "mc.SVGP(mc.Gaussian(0.1))": "use mercer.KernelRidge(kernel='rbf', landmarks=100)",
    "mc.median_heuristic(X)": "use gamma='median', as in mercer.SVC(gamma='median')",
    "mc.formats.from_onnx('a.onnx')": "no model is read from ONNX",
    "mc.SVC().probabilities(X)": "use mercer.SVCCV(calibration='sigmoid')",
    "mc.SVC().train(X, Y)": "use fit(X, y)",
    "mc.SVC().accuracy(X, Y)": "use score(X, y)",
    "mc.SVC().evaluate(X, Y)": "use score(X, y)",
    "mc.SVC().compress(10)": "use mercer.compress(model, X, y, n_vectors=10)",
    "mc.SVC().decision_values(X)": "use decision_function(X)",
    "mc.SVC().sv_indices": "use support_",
    "mc.SVC().plot()": "use mercer.plot.DecisionBoundaryDisplay.from_estimator(model, X)",
    "mc.SVC().n_vectors": "use len(model.expansion_.points)",
    "mc.SVCCV().best_C_": "use best_params_['C']",
    "mc.KernelRidge().predict_var(X)": "use predict(X, return_std=True)",
    "mc.OneClassSVM().score(X, Y)": "use score_samples(X)",
    "mc.OneClassSVM().anomaly_score(X)": "use score_samples(X), or decision_function(X)",
    # arguments of another kind, or in another place
    "mc.SVC(kernel='precomputed').fit(np.c_[np.arange(12), K], Y)": "without a column of indices it is K[:, 1:]",
    "mc.SVC(kernel='precomputed').fit(np.dot, Y)": "X must be a list or an array, with one row or number per point",
    "mc.SVC(kernel='precomputed').fit(lambda x, z: 1.0, Y)": "got function; give a function as kernel=.",
    "mc.project(X, 2)": "a KernelPCA, which projects points by fit_transform(X)",
    "mc.mmd_test(T, T)": "numbers are columns, numpy.reshape(Z, (-1, 1))",
    "mc.mmd_test(mc.features(mc.Gaussian(1.0), X), mc.features(mc.Gaussian(1.0), X))": "got Expansion; give points",
    "mc.mmd_test(X, Z, kernel=K)": "for tests mercer.Precomputed(K) and indices as points",
    "mc.hsic_test(X, np.array(['a', 'b'] * 6))": "of labels labels[:, None] == numpy.unique(labels)",
    "mc.SVC().fit(X.reshape(12, 3, 1), Y)": "make a row of each point, X.reshape(len(X), -1)",
    "mc.SVC().fit(X, Y).score(Y, X)": "X comes before y",
    "mc.SVC().fit(X, Y).score(Y, Y)": "X must have two dimensions (points, features), got shape (12,)",
    "mc.compress(mc.SVC().fit(X, Y), Y, X, n_vectors=5)": "X comes before y",
    "mc.KernelPCA(2).fit(X).inverse_transform(X)": "denoise takes points",
    "mc.SVC().fit([[1, 2], [1, 2, 3]] * 6, Y)": "graphs kernel=mercer.graphs.WeisfeilerLehman()",
}
# Lines whose message a second stranger could not act on.
AGAIN = {
    # arguments
    "mc.KernelRidge(n_components=50)": "use landmarks: write mercer.KernelRidge(landmarks=50).",
    "mc.KernelMap(n_components=50)": "use landmarks: write mercer.KernelMap(landmarks=50).",
    "mc.KernelMap(mc.Gaussian(0.5), 100)": "tol=None): too many positional arguments; give those "
    "after * by name",
    "mc.SVC(kernel='matern', nu=1.5)": "use mercer.Matern(length=1.0, nu=1.5), whose length is the scale",
    "mc.SVR(C=2.0, kernel=mc.Matern(nu=2.5), length=3.0)": "write mercer.SVR(C=2.0, kernel=mercer.Matern(length=3.0, "
    "nu=2.5)).",
    "mc.SVC(kernel='matern', sigma=2.0)": "use mercer.Matern(length=1.0, nu=1.5), whose length is the scale",
    "mc.SVC(kernel=mc.Gaussian(0.5), degree=3, foo=1)": "SVC has no parameter foo; it has C, kernel, degree, memory, ",
    # beside an object its parameters are meant
    "mc.SVC(kernel=mc.Gaussian(0.5), sigma=2.0)": "write mercer.SVC(kernel=mercer.Gaussian(gamma=1/(2*2.0**2))).",
    "mc.SVR(kernel=mc.Gaussian(0.5), length_scale=2.0)": "write "
    "mercer.SVR(kernel=mercer.Gaussian(gamma=1/(2*2.0**2))).",
    "mc.SVC(kernel=mc.Gaussian(0.5), KernelScale=2.0)": "write mercer.SVC(kernel=mercer.Gaussian(gamma=1/2.0**2)).",
    "mc.KernelPCA(2, kernel=mc.Laplacian(0.5), sigma=2.0)": "write mercer.KernelPCA(2, "
    "kernel=mercer.Laplacian(gamma=1/2.0)).",
    "mc.NuSVC(kernel=mc.Matern(), nu=0.5, sigma=2.0)": "kernel=mercer.Matern(length=2.0, nu=1.5)).",
    "mc.SVC(kernel=mc.Polynomial(3), order=2, c=1)": "write mercer.SVC(kernel=mercer.Polynomial(degree=2, gamma=1.0, "
    "coef0=1)).",
    "mc.SVC(kernel=mc.Gaussian(0.5), gamma=0.1, cost=1)": "or write kernel='rbf', gamma=0.1.",
    "mc.SVC(kernel=mc.Linear(), sigma=2.0)": "a linear kernel has no parameters: without sigma write "
    "mercer.SVC(kernel=mercer.Linear()).",
    "mc.SVC(kernel=mc.Gaussian(0.5) + mc.Linear(), sigma=2.0)": "the parts of a kernel have their own, as in "
    "mercer.Gaussian(0.1) + mercer.Linear(), in a grid kernel__left__gamma",
    "mc.KernelRidge(kernel='matern', nu=1.5)": "as smoothness mercer.Matern(length=1.0, nu=1.5)",
    "mc.Linear(c=2.0)": "write mercer.Linear() + 2.0.",
    "mc.kernels.Periodic(p=2.0)": "write mercer.kernels.Periodic(period=2.0).",
    "mc.mmd(X, Z, kernel='rbf')": "as in mercer.mmd(mercer.features(kernel, X), mercer.features(kernel, Z))",
    "mc.GPRegressor()": "use mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')",
    "mc.GPClassifier()": "use mercer.SVCCV(calibration='sigmoid')",
    "mc.models.GPR()": "use mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')",
    "mc.Gram(mc.Gaussian(0.5), X).to_numpy()": "use dense()",
    "mc.save('model.mercer', mc.SVC().fit(X, Y))": "got str of builtins; write mercer.save(model, 'model.mercer')",
    "mc.SVR().fit(X, T).predict_proba(X)": "use predict_interval(X) of mercer.KernelRidge",
    "mc.SVC(tolerance=1e-4)": "write mercer.SVC(tol=0.0001).",
    "mc.SVC(balanced=True)": "class_weight='balanced' does this",
    "mc.kernels.Exponential(1.0)": "use mercer.Matern(length, nu=0.5)",
    "mc.kernels.Cosine()": "use mercer.Normalized(mercer.Linear())",
    "mc.kernels.Add(mc.Gaussian(0.5), mc.Linear())": "mercer.Gaussian(0.5) + mercer.Linear()",
    "mc.kernels.Exponentiation(mc.Gaussian(0.5), 2)": "mercer.Gaussian(0.5) ** 2",
    "mc.kqr(X, T)": "use mercer.QuantileSVR(quantile=0.5).fit(X, y)",
    "mc.kmmd(X, Z)": "use mercer.mmd_test(X, Z)",
    "mc.ocsvm(X)": "use mercer.OneClassSVM(nu=0.1).fit(X)",
    "mc.fitrgp(X, T)": "use mercer.KernelRidge(kernel='rbf', tune='marginal_likelihood')",
    "mc.svm_predict(Y, X, mc.SVC())": "use predict of a fitted model, as in mercer.SVC().fit(X, y).predict(X)",
    "mc.formats.load_libsvm('x.model')": "use mercer.as_expansion(path)",
    "mc.formats.save_libsvm(mc.SVC(), 'x.model')": "use mercer.formats.write_libsvm(model, path)",
    "mc.SVC(kernel=mc.Precomputed(K)).fit(X, Y)": "must be the square matrix of kernel values",
    "mc.SVC(2.0, C=3.0)": "max_vectors=None): multiple values for argument 'C'; give those after * by name",
    "mc.PCAL1(2, n_components=3)": "random_state=None): multiple values for argument 'n_components'; give those "
    "after * by name",
    "mc.Nystroem('rbf', 0.1, 100)": "n_components=100, landmarks='uniform'): too many positional arguments; give "
    "those after * by name",
    "mc.strings.Subsequence()": "Subsequence takes (length, decay=0.5): missing a required argument: 'length'; its "
    "values are kernel(X, Z), and a variance is a factor, as in 2.0 * mercer.Gaussian(0.5).",
    "mc.Normalized()": "Normalized takes (kernel): missing a required argument: 'kernel'; its values are kernel(X, "
    "Z), and a variance is a factor, as in 2.0 * mercer.Gaussian(0.5).",
    "mc.certify(mc.SVC().fit(X, Y), Z, epsilon=0.1)": "without epsilon write mercer.certify(model, X, y=y).",
    "mc.certify(mc.SVC().fit(X, Y), Z)": "give all training points, in the order of the fit, as in "
    "mercer.certify(model, X_train, y_train); of new points score(X, y) tells.",
    "mc.combine(mc.Gaussian(1.0), mc.Linear(), weights=[0.3, 0.7])": "a sum has given weights, such as 0.3 * "
    "mercer.Gaussian(0.5) + 0.7 * mercer.Linear()",
    "mc.combine(mc.SVC().fit(X, Y), mc.SVC().fit(X, Y))": "models are combined by VotingClassifier and "
    "StackingClassifier of sklearn.ensemble",
    "mc.plan('SVC', 1000, 2)": "give an object, such as mercer.SVC().",
    "mc.plan(mc.SVC, 1000, 2)": "give an object, such as mercer.SVC().",
    "mc.SVRCV(scoring='f1').fit(X, T)": "scoring = 'f1' must be a score of numbers such as these targets, as 'r2' and "
    "'neg_mean_squared_error' are",
    "mc.SVRCV(scoring='roc_auc').fit(X, T)": "scoring = 'roc_auc' must be a score of numbers",
    "mc.formats.as_expansion(sklearn.pipeline.make_pipeline(mc.SVC()).fit(X, Y))": "for points model[:-1].transform(X)",
    # names
    "mc.sklearn.patch()": "use mercer.patch_sklearn()",
    "mc.SVR().decision_function(X)": "use predict(X)",
    "mc.KernelRidge().decision_function(X)": "use predict(X)",
    "mc.Nystroem().predict(X)": "use transform, and an estimator after it, as in "
    "sklearn.pipeline.make_pipeline(model, mercer.SVC(kernel='linear'))",
    "mc.PCAL1().predict(X)": "sklearn.pipeline.make_pipeline(model, mercer.SVC(kernel='linear'))",
    "mc.SVDD().predict_proba(X)": "use score_samples(X) or decision_function(X)",
    "mc.SVC(kernel='graph').fit([K] * 12, Y)": "use mercer.graphs.WeisfeilerLehman, whose points are "
    "networkx.Graph(edges) or mercer.graphs.Graph(adjacency)",
    "mc.formats.to_libsvm(mc.SVC(), 'a.model')": "use mercer.formats.to_onnx, to_c or write_libsvm",
    "mc.formats.write_libsvm(sklearn.pipeline.make_pipeline(mc.SVC()).fit(X, Y), 'a.model')": "A file of LIBSVM holds "
    "no scaler: mercer.formats.to_onnx and to_c hold a pipeline, or give model[-1], and in prediction the points "
    "model[:-1].transform(X).",
    # data
    "mc.SVC().fit([[1, 2, 3], [1, 2]] * 6, Y)": "sequences of numbers kernel=mercer.sequences.GlobalAlignment(1.0), of "
    "symbols kernel=mercer.strings.Spectrum(2), graphs",
    "mc.SVC().fit(X[:, 0], Y)": "got shape (12,); pass one feature as a column, X.reshape(-1, 1), or one point as a "
    "row, X.reshape(1, -1)",
    "mc.SVC().fit(X, Y).predict(X[0])": "got shape (3,); pass one feature as a column, X.reshape(-1, 1), or one point",
}
ALL = LINES | OTHER_LINES | ELSEWHERE | STRANGE | AGAIN
RAISED = (AttributeError, ImportError, OSError, TypeError, ValueError)


def written_calls(message):
    """Return the calls after "write" in a message, and the name of the class whose method it is about."""
    calls = []
    for found in re.finditer(r"write (?=[\d. *]*(?:mercer|sklearn)\.|\w+\()", message):
        rest = message[found.end() :]
        ends = [i for i in range(len(rest) + 1) if rest[:i].endswith(")") and is_code(rest[:i])]
        # up to the end of the call, with a method of its result
        calls += [rest[:end] for end in ends[:1]]
        method = re.match(r"\.\w+\([^)]*\)", rest[ends[0] :]) if ends else None
        calls[-1:] = [calls[-1] + method.group()] if method else calls[-1:]
    owner = re.match(r"(\w+)\.\w+ (?:has|takes)", message)
    return calls, owner and owner.group(1)


def is_code(text):
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def message_of(line):
    """Return the error of a line."""
    with pytest.raises(RAISED) as raised:
        exec(line, dict(NAMES))
    return str(raised.value)


@pytest.mark.parametrize("line", ALL)
def test_the_message_of_a_mistaken_line_repairs_it(line):
    assert ALL[line] in message_of(line)


@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.parametrize("line", ALL)
def test_every_call_that_a_message_writes_runs_and_keeps_what_was_asked_for(
    line, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    message = message_of(line)
    calls, owner = written_calls(message)
    model = mc.SVC().fit(X, Y)
    names = NAMES | {
        "numpy": np,
        "Class": mc.KernelPCA if "KernelPCA" in line else lambda: mc.SVC().fit(X, Y),
        "mmd_test": mc.mmd_test,
        "y": Y,
        "Y": X,
        "model": model,
        "estimator": model,
        "path": tmp_path / "model.c",
        "phi": mc.features(mc.Gaussian(1.0), X),
        "chi": mc.features(mc.Gaussian(1.0), X[:5]),
        "psi": mc.mean(mc.features(mc.Gaussian(1.0), X)),
        "kernel": mc.Gaussian(1.0),
        "n": 2,
        "ridge": 0.1,
        "length": 2,
        "score": lambda x: -x,
        "sample_weight": np.ones(12),
        "n_features_in": 3,
        "kernels": [mc.Gaussian(1.0), mc.Linear()],
        "m": 5,
    }
    if owner:
        made = vars(mercer)[owner]().fit(X, Y)
        methods = "fit", "predict", "set_params"
        names |= {each: getattr(made, each) for each in methods if hasattr(made, each)}
        names |= {"score": made.score, "predict_interval": getattr(made, "predict_interval", None)}
    for call in [each for each in calls if "..." not in each]:
        found = eval(call, dict(names))
        # a call may be that of the switch
        mercer.unpatch_sklearn()
        if isinstance(found, mc.Kernel) and found.tags.points == "rows":
            assert np.isfinite(found.resolve(X)(X)).all()
        elif hasattr(found, "fit") and getattr(found, "kernel", "rbf") in (
            None,
            "rbf",
            "linear",
            "poly",
        ):
            found.fit(X, Y)
    if not calls or not re.match(r"[\w.]+ has no parameter", message):
        return
    # what is known and what is said to have the same meaning is in the call
    typed = [each for each in ast.walk(ast.parse(line)) if isinstance(each, ast.Call)][0].keywords
    known = (
        inspect.signature(eval(line.partition("(")[0], dict(NAMES))).parameters
        if owner is None
        else {}
    )
    said = re.findall(r"(?:use|give) (\w+)", message)
    for name in [*(each.arg for each in typed), *said]:
        assert name not in known or re.search(rf"{name}s?=|, {name}", calls[-1])


@pytest.mark.parametrize("line", [each for each in LINES if each.endswith("_")])
def test_a_fitted_attribute_that_a_message_names_is_there(line):
    for name in re.findall(r"use (\w+_)(?=[,.]|$)", message_of(line)):
        eval(f"{line.rpartition('.')[0]}.{name}", dict(NAMES))


def test_a_transformer_is_not_said_to_have_the_certificate_of_a_support_vector_machine():
    assert "certificate_" not in message_of("mc.KernelPCA(2).fit(X).fit_status_")


def test_there_are_three_hundred_lines():
    assert len(ALL) >= 300


def test_rows_that_look_like_kernel_values_are_fitted_with_a_warning():
    # two points are equal
    K = mc.Gaussian(0.5)(X[[0, *range(11)]])
    with pytest.warns(UserWarning, match="for those give kernel='precomputed'"):
        model = mc.SVC().fit(K, Y)
    assert model.predict(K).shape == Y.shape
    # orthogonal rows, and rows of another diagonal, are data
    for rows in (np.eye(12), K + np.eye(12)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mc.SVC().fit(rows, Y)


@pytest.mark.parametrize(
    "line", ["mc.svm", "mc.SVC().to", "mc.SVC().best_params_", "mc.Gaussian(0.1).gama"]
)
def test_python_adds_no_name_of_similar_spelling(line):
    with pytest.raises(AttributeError) as raised:
        eval(line, dict(NAMES))
    text = "".join(traceback.format_exception(raised.value))
    assert str(raised.value) in text
    assert "Did you mean" not in text


@pytest.mark.parametrize("line", ["mc.SVC(kernel=5).fit(X, Y)", "mc.mmd_test(X, Z, 5)"])
def test_a_type_error_from_inside_a_call_stays_as_it_is(line):
    with pytest.raises(TypeError, match="^kernel must be a Kernel"):
        eval(line, dict(NAMES))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("compress m.mercer --data d.csv --n-vectors 10", "usage: mercer compress .*--vectors N"),
        ("compress m.mercer d.csv --vectors 10", "usage: mercer compress .*--data FILE"),
        ("train d.csv", "in Python: mercer.SVC.*.fit.X, y."),
        ("convert m.mercer --to onnx", "mercer.formats.to_onnx"),
    ],
)
def test_wrong_words_on_the_command_line_show_the_usage_of_the_command(words, said, capsys):
    with pytest.raises(SystemExit):
        main(words.split())
    assert re.search(said, capsys.readouterr().err, re.DOTALL)


def test_names_that_nothing_resembles_have_the_names_that_exist_and_private_ones_the_error_of_python():
    with pytest.raises(
        AttributeError,
        match=r"has no attribute 'no_such_name_at_all'; dir\(\) lists its \d+ names$",
    ):
        mc.no_such_name_at_all  # noqa: B018
    with pytest.raises(AttributeError, match="^module 'mercer' has no attribute '__wrapped__'$"):
        mc.__wrapped__  # noqa: B018


def test_a_class_of_the_user_with_other_parameters_is_left_alone():
    class Own(mc.SVC):
        def __init__(self, alpha=1.0):
            super().__init__(C=1 / alpha)
            self.alpha = alpha

    assert Own(alpha=4.0).C == 0.25


def test_a_pickle_on_the_command_line_is_refused_with_what_to_write(tmp_path, capsys):
    path = tmp_path / "old.joblib"
    joblib.dump(mc.SVC().fit(X, Y), path)
    assert main(["compress", str(path), "--vectors", "3"]) != 0
    assert "mercer.compress(joblib.load(path), X, y, n_vectors=...)" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"mercer.compress\(joblib.load\(path\), ...\)"):
        mc.compress(path, X, Y, n_vectors=3)


def test_texts_that_are_shorter_than_the_substrings_of_a_kernel_are_fitted_with_a_warning():
    words = ["good", "bad", "fine", "dull"]
    with pytest.warns(
        UserWarning, match=r"feature vector 0, k\(x, x\) = 0, with Spectrum\(length=20\)"
    ):
        mc.SVC(kernel=mc.strings.Spectrum(20)).fit(words, [1, 0, 1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mc.SVC(kernel=mc.strings.Spectrum(4)).fit(words, [1, 0, 1, 0])


def test_kernels_named_in_the_message_for_rows_of_unequal_length_take_them():
    rows = [[1, 2, 3], [4, 2]] * 6
    for kernel in (mc.sequences.GlobalAlignment(1.0), mc.strings.Spectrum(2)):
        assert mc.SVC(kernel=kernel).fit(rows, [0, 1] * 6).score(rows, [0, 1] * 6) == 1


def test_a_kernel_whose_parameter_has_no_default_is_copied_and_pickled():
    kernel = mc.strings.Subsequence(2)
    assert pickle.loads(pickle.dumps(kernel)) == copy.deepcopy(kernel) == kernel


def test_missing_data_are_named_before_the_file_to_write(tmp_path, capsys):
    path = tmp_path / "svc.mercer"
    mc.save(mc.SVC().fit(X, Y), path)
    (tmp_path / "svc-compressed.mercer").touch()
    assert main(["compress", str(path), "--max-loss", "0.1"]) != 0
    assert "--max-loss needs data to measure the loss; give --data FILE" in capsys.readouterr().err


def test_a_call_that_leaves_out_an_argument_of_unknown_meaning_says_so():
    with pytest.raises(TypeError, match=r"without colour write mercer.SVC\(C=2.0\)\.$"):
        mc.SVC(colour="red", C=2.0)


@pytest.mark.parametrize(
    ("line", "kernel"),
    [
        ("mc.SVC(kernel=mc.Gaussian(1.0), sigma=2.0)", mc.Gaussian(0.125)),
        ("mc.SVC(kernel=mc.Polynomial(2), power=3)", mc.Polynomial(3)),
        ("mc.KernelRidge(kernel=mc.Matern(), length_scale=2.0)", mc.Matern(2.0)),
        ("mc.SVR(kernel=mc.Sigmoid(0.1), bias=2.0)", mc.Sigmoid(0.1, 2.0)),
        ("mc.SVC(kernel='laplacian', sigma=2.0)", mc.Laplacian(0.5)),
    ],
)
def test_a_call_that_an_error_writes_has_the_kernel_that_was_meant(line, kernel):
    with pytest.raises(TypeError) as refused:
        eval(line)
    written = str(refused.value).partition(": write ")[2].removesuffix(".")
    assert eval(written, {"mercer": mc}).fit(X, Y).kernel_ == kernel


def test_only_modules_that_mercer_lacks_have_the_error_of_mercer():
    assert importlib.util.find_spec("mercer.capacity") is not None
    with pytest.raises(ModuleNotFoundError, match="names of Mercer are in mercer itself"):
        importlib.import_module("mercer.svm")
    # who asks whether there is such a module is answered as Python answers
    assert importlib.util.find_spec("mercer.svm") is None
    with pytest.raises(ModuleNotFoundError, match="^No module named 'no_such_package'$"):
        importlib.import_module("no_such_package")
