"""
Model files without pickle
==========================

`save` writes a model as data, and `load` executes nothing: a damaged file raises an error instead of running code. This
example flips one bit of the file of a classifier, at 300 places in turn. Each damaged file is refused; the untouched
one gives the same decision values to the last bit.
"""

import tempfile
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc

X, y = load_wine(return_X_y=True)
model = make_pipeline(StandardScaler(), mc.SVC(10.0, kernel=mc.Gaussian(0.05))).fit(X, y)
path = Path(tempfile.mkdtemp()) / "wine.mercer"
mc.save(model, path)
assert np.array_equal(mc.load(path).decision_function(X), model.decision_function(X))

content = path.read_bytes()
damaged = path.with_name("damaged.mercer")
outcomes = Counter()
for place in range(0, len(content), max(1, len(content) // 300)):
    changed = bytearray(content)
    changed[place] ^= 1
    damaged.write_bytes(changed)
    try:
        mc.load(damaged)
        outcomes["loaded"] += 1
    except mc.formats.ModelFileError:
        outcomes["ModelFileError"] += 1

figure, panel = plt.subplots(figsize=(5.6, 2.4), layout="constrained")
bars = panel.barh(["loaded", "ModelFileError"], [outcomes["loaded"], outcomes["ModelFileError"]])
panel.bar_label(bars, padding=3)
panel.margins(x=0.12)
panel.set(
    xlabel="files with one flipped bit", title=f"{len(content) / 1000:.0f} kB, {len(X)} wines"
)
plt.show()
