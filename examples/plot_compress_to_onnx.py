"""
A smaller ONNX file with nearly the same accuracy
=================================================

`to_onnx` converts a fitted model to a graph of standard operators. A model of support vectors stores rows of the
training data, so its file grows with them; `compress` makes the file smaller. ONNX Runtime computes the accuracies
below, on held-out digits.
"""

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import mercer as mc
from mercer.formats import to_onnx

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
full = mc.SVC(10.0, kernel=mc.Gaussian(0.2)).fit(X_train, y_train)
models = {len(full.support_): full}
for n in (40, 20, 10):
    models[n] = mc.compress(full, X_train, y_train, n_vectors=n, random_state=0)

sizes, accuracies, differences = [], [], []
for model in models.values():
    proto = to_onnx(model)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    labels, scores = session.run(["label", "scores"], {"X": X_test.astype(np.float32)})
    sizes.append(proto.ByteSize() / 1000)
    accuracies.append(np.mean(labels == y_test))
    differences.append(np.mean(labels != model.predict(X_test)))

figure, panel = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
panel.semilogx(sizes, accuracies, "o-")
for size, accuracy, n in zip(sizes, accuracies, models, strict=True):
    panel.annotate(str(n), (size, accuracy), (6, -14), textcoords="offset points")
panel.set(
    title="numbers of vectors", xlabel="kB of the ONNX file", ylabel="accuracy in ONNX Runtime"
)
panel.margins(x=0.25, y=0.2)
plt.show()

# %%
print(f"labels that differ from those of Mercer: {max(differences):.1%}")
