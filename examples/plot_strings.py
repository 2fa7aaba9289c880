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

figure, ax = plt.subplots(figsize=(8, 6), layout="constrained")
for i, family in enumerate(stems.values()):
    points = coordinates[6 * i : 6 * i + 6]
    ax.scatter(*points.T, color=f"C{i}", s=15)
    for word, point in zip(family, points, strict=True):
        ax.annotate(word, point, xytext=(3, 3), textcoords="offset points", color=f"C{i}", fontsize=8)
ax.set(xlabel="first component", ylabel="second component")
plt.show()

# %%
# A new word, and one with an error of typing, are mapped to the words they resemble.
print(words[kernel(["playrs"], words).argmax()], words[kernel(["nationals"], words).argmax()])
