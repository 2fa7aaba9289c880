"""
Three detectors of novelty
==========================

The detectors are fitted to benign tumours only, and should give malignant ones a low score. `OneClassSVM` and `SVDD`
describe the region of most points; `KernelPCA.score_samples` is minus the squared distance in feature space to the
principal components. With a Gaussian kernel the first two describe the same region. The curves are on held-out tumours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc

X, benign = load_breast_cancer(return_X_y=True)
train, test = train_test_split(np.flatnonzero(benign), random_state=0)
test = np.concatenate([test, np.flatnonzero(benign == 0)])

kernel = mc.Gaussian("median")
detectors = {
    "OneClassSVM": mc.OneClassSVM(nu=0.1, kernel=kernel),
    "SVDD": mc.SVDD(kernel=kernel),
    "KernelPCA": mc.KernelPCA(20, kernel=kernel),
}
figure, panel = plt.subplots(figsize=(5, 4.6), layout="constrained")
for (name, detector), line in zip(detectors.items(), ["-", "--", ":"], strict=True):
    model = make_pipeline(StandardScaler(), detector).fit(X[train])
    scores = model.score_samples(X[test])
    RocCurveDisplay.from_predictions(
        benign[test], scores, name=name, ax=panel, curve_kwargs={"linestyle": line}
    )
panel.set(xlabel="share of malignant tumours accepted", ylabel="share of benign tumours accepted")
plt.show()
