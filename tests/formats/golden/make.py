"""Write model files of the current version of the format, and the predictions of their models, once.

``python -m tests.formats.golden.make`` wrote the folder version1. Its files are never written again: a later version of
the format gets another folder, and the current code must load all files and predict the same.
"""

import functools
import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
from mercer.formats import write_libsvm
from mercer.formats.model_file import VERSION

FOLDER = Path(__file__).parent
RNG = np.random.default_rng(1999)
X = RNG.standard_normal((14, 3)).round(3)
NEW = RNG.standard_normal((4, 3)).round(3)
TARGET = np.sin(X[:, 0]) + X[:, 1]
TWO = (TARGET > 0).astype(int)
THREE = np.array(["ash", "birch", "cedar"])[np.digitize(TARGET, [-0.5, 0.5])]
K = mc.Gaussian(0.4)


@functools.cache
def models():
    """Return fitted models by name: every class, and every kind of content."""
    psi = mc.features(K, X) @ np.cos(np.outer(np.arange(14.0), [1, 2]))
    return {
        "SVC": mc.SVC(kernel=K, class_weight="balanced").fit(X, THREE),
        "SVC-one-vs-rest-float32": mc.SVC(kernel=K, multi_class="ovr").fit(
            X.astype(np.float32), THREE
        ),
        "SVC-sparse": mc.SVC(C=3, kernel=mc.Linear(), class_weight={0: 1.0, 1: 2.5}).fit(
            sp.csr_matrix(X), TWO
        ),
        "SVC-precomputed": mc.SVC(kernel="precomputed").fit(X @ X.T, TWO),
        "NuSVC": mc.NuSVC(nu=0.3, kernel=K).fit(X, TWO),
        "SVR": mc.SVR(kernel=mc.Polynomial(2, 0.5, 1.0)).fit(X, TARGET),
        "NuSVR": mc.NuSVR(kernel=K).fit(X, TARGET),
        "OneClassSVM": mc.OneClassSVM(kernel=K, nu=0.3).fit(X),
        "SVDD": mc.SVDD(kernel=K).fit(X),
        "SVCCV": mc.SVCCV(K, Cs=[0.1, 10.0], cv=2).fit(X, TWO),
        "KernelRidge": mc.KernelRidge(0.1, kernel=K).fit(X, np.column_stack([TARGET, TWO])),
        "KernelRidge-landmarks": mc.KernelRidge(0.1, kernel=K, landmarks=5, random_state=0).fit(
            X, TARGET
        ),
        "KernelPCA": mc.KernelPCA(3, kernel=K, preimage=mc.FixedPoint(max_iter=50)).fit(X),
        "KernelPCA-whitened": mc.KernelPCA(3, kernel=K, whiten=True).fit(X),
        "KernelFisher": mc.KernelFisher(kernel=K).fit(X, THREE),
        "KernelPerceptron": mc.KernelPerceptron(kernel=K, voted=True, max_iter=5).fit(X, THREE),
        "Nystroem": mc.Nystroem(K, n_components=5, random_state=0).fit(X),
        "KernelMap": mc.KernelMap(K, landmarks=5, random_state=0).fit(X),
        "Kernelized": mc.Kernelized(Ridge(0.5), K, landmarks=5, random_state=0).fit(X, TARGET),
        "PCAL1": mc.PCAL1(2, random_state=0).fit(X),
        "pipeline": make_pipeline(StandardScaler(), mc.SVC(kernel=mc.Laplacian(0.2))).fit(X, THREE),
        "Expansion": psi,
        "kernel": 0.5
        * mc.Normalized(mc.Exp(mc.Linear()))
        * mc.Mapped(mc.Matern(1.5, nu=2.5), np.array([1, 0.5, 2]))
        + mc.Rescaled(mc.Cauchy(0.3) ** 2, psi[:, 0])
        + mc.RationalQuadratic(1.0, 0.5)
        + mc.Sigmoid(0.1)
        + 1.5,
    }


def answers(model, new):
    """Return the outputs of a model at new points, by method, as lists."""
    found = {}
    for method in ("decision_function", "predict", "transform", "__call__"):
        # estimators cannot be called, and kernels do not predict
        if hasattr(model, method):
            found[method] = np.asarray(getattr(model, method)(new)).tolist()
    return found


def new_points(name):
    """Return the points at which a model is evaluated."""
    return NEW @ X.T if name == "SVC-precomputed" else NEW


def main(folder):
    """Write all files into a new folder."""
    folder.mkdir()
    found = {}
    for name, model in models().items():
        mc.save(model, folder / f"{name}.mercer")
        found[name] = {"new": new_points(name).tolist(), "says": answers(model, new_points(name))}
        if name in ("NuSVC", "SVR", "OneClassSVM"):
            write_libsvm(model, folder / f"{name}.libsvm")
    (folder / "answers.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / f"version{VERSION}")
