"""scikit-learn's kernel estimators with fits by Mercer, and the switch that puts them in scikit-learn's place.

The classes are subclasses of those of the installed scikit-learn, with the same names, parameters, attributes and
errors. Their attribute ``mercer_`` is Mercer's fitted model. It is None where Mercer cannot do a fit as scikit-learn
does: scikit-learn does it, and one line at the level INFO of the logger ``mercer.sklearn`` says why.

>>> from mercer.sklearn import KernelRidge
>>> model = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
>>> model.predict([[1.5]]).round(3)
array([2.557])
>>> model.mercer_.kernel_
Gaussian(gamma=0.5)
"""

from mercer._elsewhere import explain_names
from mercer.sklearn.pairwise import KernelPCA, KernelRidge, Nystroem
from mercer.sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.sklearn.switch import patch_sklearn, unpatch_sklearn

__all__ = [
    "SVC",
    "SVR",
    "KernelPCA",
    "KernelRidge",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "patch_sklearn",
    "unpatch_sklearn",
]
explain_names(__name__)
