"""
Text and numbers in one estimator
=================================

`on_columns` gives each kernel some columns of a table. A product or sum of such kernels is a kernel of whole rows, so
that one estimator takes a table with a column of text and columns of numbers. This example finds urgent complaints: the
words show how angry a customer is, the numbers are the amount and the days of waiting.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, cross_val_score

import mercer as mc

rng = np.random.default_rng(0)
calm = ["please", "could", "you", "look", "at", "my", "order", "when", "there", "is", "time", "thank", "you"]
angry = ["again", "still", "broken", "refund", "now", "unacceptable", "late", "never", "worst", "my", "order"]
anger = rng.random(240)
text = [" ".join(np.where(rng.random(9) < a, rng.choice(angry, 9), rng.choice(calm, 9))) for a in anger]
table = pd.DataFrame({"text": text, "amount": rng.gamma(2.0, 40.0, 240), "days": rng.integers(0, 30, 240)})
urgent = anger + table["amount"] / 150 + table["days"] / 40 + 0.1 * rng.standard_normal(240) > 1.4

words = mc.on_columns(mc.Normalized(mc.strings.Words()), "text")
numbers = mc.on_columns(mc.Mapped(mc.Gaussian("median"), np.array([1 / 60, 1 / 9])), ["amount", "days"])
scores = {
    name: cross_val_score(mc.SVC(C=10.0, kernel=kernel), table, urgent, cv=5).mean()
    for name, kernel in {"words": words, "numbers": numbers, "sum": words + numbers, "product": words * numbers}.items()
}

fig, panel = plt.subplots(figsize=(5, 3), layout="constrained")
panel.barh(list(scores), list(scores.values()))
panel.axvline(max(urgent.mean(), 1 - urgent.mean()), color="black", linestyle=":", label="most frequent class")
panel.set_xlim(0.5, 1)
panel.set_xlabel("accuracy, 5 folds")
panel.legend()
plt.show()

# %%
# Parameters of the parts are searched by their place in the sum:

model = mc.SVC(kernel=words + 1.0 * numbers)
grid = {"C": [1.0, 10.0, 100.0], "kernel__right__factor": [0.3, 1.0, 3.0]}
search = GridSearchCV(model, grid, cv=5).fit(table, urgent)
print(f"{search.best_params_}, accuracy {search.best_score_:.3f}")
