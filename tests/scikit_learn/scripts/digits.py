"""Recognition of digits."""

from sklearn import datasets, metrics, svm
from sklearn.model_selection import train_test_split

digits = datasets.load_digits()
data = digits.images.reshape((len(digits.images), -1))
X_train, X_test, y_train, y_test = train_test_split(
    data, digits.target, test_size=0.5, shuffle=False
)
labels = svm.SVC(gamma=0.001).fit(X_train, y_train).predict(X_test)
values = metrics.confusion_matrix(y_test, labels).ravel()
