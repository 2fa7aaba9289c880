"""A linear machine on Nystroem features of digits."""

from sklearn import datasets, pipeline
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC

digits = datasets.load_digits(n_class=9)
data = digits.data / 16
data -= data.mean(axis=0)
half = len(data) // 2
features = Nystroem(gamma=0.2, random_state=1, n_components=120)
model = pipeline.Pipeline([("map", features), ("svm", LinearSVC(random_state=42))])
labels = model.fit(data[:half], digits.target[:half]).predict(data[half:])
values = features.transform(data[:50]).ravel()
