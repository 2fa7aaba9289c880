"""
Text and numbers in one pipeline
================================

`on_columns` gives each kernel some columns of a table. A sum or product of such kernels is a kernel of whole rows, so
that one estimator takes text and numbers. This example finds urgent complaints: the words show how angry a customer is,
the numbers are the amount and the days of waiting.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc

rng = np.random.default_rng(0)
calm = [
    "please",
    "could",
    "you",
    "look",
    "at",
    "my",
    "order",
    "when",
    "there",
    "is",
    "time",
    "thank",
    "you",
]
angry = ["again", "still", "broken", "refund", "now", "late", "never", "worst", "my", "order"]
anger = rng.random(240)
text = [
    " ".join(np.where(rng.random(9) < a, rng.choice(angry, 9), rng.choice(calm, 9))) for a in anger
]
table = pd.DataFrame(
    {"text": text, "amount": rng.gamma(2.0, 40.0, 240), "days": rng.integers(0, 30, 240)}
)
urgent = anger + table["amount"] / 150 + table["days"] / 40 + 0.1 * rng.standard_normal(240) > 1.4

words = mc.on_columns(mc.Normalized(mc.strings.Words()), "text")
numbers = mc.on_columns(mc.Gaussian("median"), ["amount", "days"])
scaled = make_column_transformer(
    (StandardScaler(), ["amount", "days"]), remainder="passthrough", verbose_feature_names_out=False
)
model = Pipeline([("scaled", scaled.set_output(transform="pandas")), ("svc", mc.SVC(C=10.0))])
kernels = {"words": words, "numbers": numbers, "sum": words + numbers, "product": words * numbers}
scores = [
    cross_val_score(model.set_params(svc__kernel=k), table, urgent, cv=5).mean()
    for k in kernels.values()
]

fig, panel = plt.subplots(figsize=(5, 3), layout="constrained")
panel.barh(list(kernels), scores)
panel.axvline(
    max(urgent.mean(), 1 - urgent.mean()), color="black", linestyle=":", label="most frequent class"
)
panel.set(xlim=(0.5, 1), xlabel="accuracy, 5 folds")
panel.legend()
plt.show()

# %%
# Parameters of the parts are searched by their place in the sum:
grid = {"svc__C": [1.0, 10.0, 100.0], "svc__kernel__right__factor": [0.3, 1.0, 3.0]}
search = GridSearchCV(model.set_params(svc__kernel=words + 1.0 * numbers), grid, cv=5).fit(
    table, urgent
)
print(f"{search.best_params_}, accuracy {search.best_score_:.3f}")
