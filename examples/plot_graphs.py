"""
Rings and chains of atoms
=========================

The Weisfeiler-Lehman kernel compares graphs by the labels of nodes and their neighbourhoods. A support vector machine
learns which molecules have a ring, from graphs with eight to twelve nodes. The picture shows how the number of
refinements matters: without any, a graph is the number of its atoms of each kind.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

import mercer as mc

rng = np.random.default_rng(0)


def molecule(ring):
    """Return a random tree, or a tree on a ring of six nodes, with random labels."""
    n = int(rng.integers(8, 13))
    parents = [max(i - 1, 0) if i < 6 else int(rng.integers(i)) for i in range(1, n)]
    edges = [(i + 1, parent) for i, parent in enumerate(parents)]
    if ring:
        edges.append((0, 5))
    adjacency = np.zeros((n, n))
    adjacency[tuple(np.transpose(edges))] = 1
    return mc.graphs.Graph(np.maximum(adjacency, adjacency.T), rng.choice(list("CCCNO"), n))


rings = np.arange(120) % 2
graphs = [molecule(ring) for ring in rings]
refinements = range(5)
accuracies = []
for h in refinements:
    model = mc.SVC(10.0, kernel=mc.Normalized(mc.graphs.WeisfeilerLehman(h)))
    accuracies.append(cross_val_score(model, graphs, rings, cv=5).mean())

figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.plot(refinements, accuracies, marker="o")
ax.axhline(0.5, color="black", linestyle=":", label="chance")
ax.set(
    xlabel="refinements",
    ylabel="accuracy, 5 folds",
    xticks=list(refinements),
    title="Is there a ring of six?",
)
ax.legend()
plt.show()
