"""
Kernel PCA of words
===================

The kernel counts common subsequences of two letters, with a penalty for gaps. Words with one stem are near to one
another: no word is split, stemmed or translated first.
"""

import matplotlib.pyplot as plt

import mercer as mc

stems = {
    "compute": ["compute", "computer", "computing", "computation", "computable", "recompute"],
    "nation": ["nation", "national", "nationality", "international", "nations", "nationwide"],
    "play": ["play", "player", "playing", "played", "playful", "playground"],
}
words = [word for family in stems.values() for word in family]
kernel = mc.Normalized(mc.strings.Subsequence(2, decay=0.6))
pca = mc.KernelPCA(2, kernel=kernel).fit(words)
coordinates = pca.transform(words)

figure, ax = plt.subplots(figsize=(6, 5.4), layout="constrained")
for i, family in enumerate(stems.values()):
    points = coordinates[6 * i : 6 * i + 6]
    ax.scatter(*points.T, color=f"C{i}", s=15)
    # names in a column beside the words of a family, in their order from bottom to top
    order = points[:, 1].argsort()
    right = points[:, 0].max() + 0.08
    middle = points[:, 1].mean()
    for place, j in enumerate(order):
        text = right, middle + 0.06 * (place - 2.5)
        ax.annotate(
            family[j],
            points[j],
            text,
            color=f"C{i}",
            va="center",
            arrowprops={"arrowstyle": "-", "alpha": 0.3},
        )
ax.set(xlabel="first component", ylabel="second component", xlim=(-0.7, 1.1), ylim=(-0.7, 0.9))
plt.show()

# %%
# A new word, and one with a typing error, are mapped to the words they resemble.
print(words[kernel(["playrs"], words).argmax()], words[kernel(["nationals"], words).argmax()])
