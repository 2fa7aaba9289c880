"""
A classifier for a microcontroller
==================================

`to_c` writes a fitted model as one file of C99 that allocates no memory. `compress` makes the model smaller first, and
`dtype="int8"` stores the vectors in 8 bits. This example compiles every file, runs it on held-out digits, and compares
the bytes of its tables with its accuracy.
"""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import mercer as mc
from mercer.formats import to_c

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
full = mc.SVC(10.0, kernel=mc.Gaussian(0.2)).fit(X_train, y_train)
models = {
    "all vectors": full,
    "40 vectors": mc.compress(full, X_train, y_train, n_vectors=40, random_state=0),
}
folder = Path(tempfile.mkdtemp())


def accuracy(name):
    """Compile the file and return its accuracy on test digits."""
    command = ["cc", "-O1", "-shared", "-fPIC", f"{name}.c", "-o", f"{name}.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    predict = ctypes.CDLL(str(folder / f"{name}.so")).model_predict
    rows = X_test.astype(np.float32)
    labels = [predict(row.ctypes.data_as(ctypes.POINTER(ctypes.c_float))) for row in rows]
    return np.mean(full.classes_[labels] == y_test)


figure, panel = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
for i, (vectors, model) in enumerate(models.items()):
    for dtype, marker in {"float32": "o", "int8": "s"}.items():
        size = to_c(model, folder / f"{dtype}{i}.c", dtype=dtype, X=X_train).flash / 1000
        panel.plot(
            size,
            accuracy(f"{dtype}{i}"),
            marker,
            color=f"C{i}",
            label=f"{vectors}, {dtype}: {size:.0f} kB",
        )
panel.set(xscale="log", xlabel="kB of tables", ylabel="accuracy of the C code", ylim=(0.9, 1.0))
panel.legend()
plt.show()
