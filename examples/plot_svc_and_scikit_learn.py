"""
The same support vector machine as scikit-learn's
=================================================

`SVC` solves the problem that scikit-learn's `SVC` solves: on digits both find the same support vectors and give the
same labels, for every C. Only the kernel is written differently: `gamma` is a parameter of the kernel, not of the
estimator.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import mercer as mc

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)

Cs = [0.01, 0.1, 1.0, 10.0, 100.0]
accuracies = {"scikit-learn": [], "Mercer": []}
vectors = {"scikit-learn": [], "Mercer": []}
equal = []
for C in Cs:
    models = {
        "scikit-learn": SVC(C=C, gamma=0.05, tol=1e-6),
        "Mercer": mc.SVC(C, kernel=mc.Gaussian(0.05), tol=1e-6),
    }
    for name, model in models.items():
        accuracies[name].append(model.fit(X_train, y_train).score(X_test, y_test))
        vectors[name].append(len(model.support_))
    equal.append(
        np.mean(models["scikit-learn"].predict(X_test) == models["Mercer"].predict(X_test))
    )

figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.6, 5), sharex=True, layout="constrained")
for panel, numbers in ((top, accuracies), (bottom, vectors)):
    panel.semilogx(
        Cs,
        numbers["scikit-learn"],
        "o",
        markersize=11,
        markerfacecolor="none",
        label="scikit-learn",
    )
    panel.semilogx(Cs, numbers["Mercer"], ".-", label="Mercer")
top.set(
    ylabel="accuracy on test digits", title=f"equal labels, over all C: at least {min(equal):.1%}"
)
bottom.set(xlabel="C", ylabel="support vectors")
top.legend()
plt.show()

# %%
# The certificate of a fit states how far it is from the optimum: the gap between the two objectives.
certificate = mc.SVC(Cs[-1], kernel=mc.Gaussian(0.05), tol=1e-6).fit(X_train, y_train).certificate_
print(f"relative gap at C = {Cs[-1]:g}: {certificate.gap / certificate.primal:.1e}")
