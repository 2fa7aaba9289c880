"""The numbers of each view. The page shows the source of these functions as the code of the view."""

import numpy as np

import mercer as mc


def lattice(X: np.ndarray, n: int) -> list[np.ndarray]:
    """Return n coordinates of each axis over the points of the plane, and the n^2 points of their grid."""
    x1, x2 = np.linspace(X.min(axis=0) - 0.3, X.max(axis=0) + 0.3, n).T
    return [x1, x2, np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)]


def boundary(X: np.ndarray, y: np.ndarray, kernel: mc.Kernel, C: float) -> dict[str, object]:
    """Fit a support vector machine in the plane; return it, its values on a grid, and its accuracy in three folds."""
    from sklearn.model_selection import cross_val_score

    model = mc.SVC(C, kernel=kernel).fit(X, y)
    x1, x2, grid = lattice(X, 60)
    values = model.decision_function(grid) if len(model.classes_) == 2 else model.predict(grid)
    accuracy = cross_val_score(mc.SVC(C, kernel=kernel), X, y, cv=3).mean()
    return {
        "model": model,
        "x1": x1,
        "x2": x2,
        "values": values.reshape(60, 60),
        "accuracy": accuracy,
    }


def components(X: np.ndarray, kernel: mc.Kernel) -> dict[str, object]:
    """Fit kernel PCA in the plane; return it, and the scores of six components on a grid."""
    model = mc.KernelPCA(6, kernel=kernel).fit(X)
    x1, x2, grid = lattice(X, 45)
    return {
        "model": model,
        "x1": x1,
        "x2": x2,
        "scores": model.transform(grid).T.reshape(-1, 45, 45),
    }


def spectrum(X: np.ndarray, y: np.ndarray, kernel: mc.Kernel) -> dict[str, object]:
    """Return the shares of the variance in feature space, and the alignment of the kernel with the labels."""
    found = mc.capacity.spectrum(kernel, X, centre=True)
    return {"shares": found.values / found.trace, "alignment": mc.alignment(kernel, X, y)}


def geometry(X: np.ndarray, kernel: mc.Kernel) -> dict[str, object]:
    """Return volume element, curvature and distance from the mean in feature space, on a grid of the plane."""
    x1, x2, grid = lattice(X, 40)
    volume = mc.manifold.volume_element(kernel, grid)
    regular = volume > 0
    curvature = np.full(len(grid), np.nan)
    curvature[regular] = mc.manifold.scalar_curvature(kernel, grid[regular])
    distance = mc.sqdist(mc.features(kernel, grid), mc.mean(mc.features(kernel, X))) ** 0.5
    found = {"volume": volume, "curvature": curvature, "distance": distance}
    return {"x1": x1, "x2": x2, **{name: values.reshape(40, 40) for name, values in found.items()}}


def denoising(X: np.ndarray, kernel: mc.Kernel, size: int) -> dict[str, object]:
    """Denoise 50 rows, at most half, by kernel PCA of the others; return errors, and rows for ``size`` components."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    noised = min(50, len(X) // 2)
    clean = X[order[:noised]]
    train = X[order[noised:]]
    noisy = clean + rng.normal(0, 0.25, clean.shape)
    sizes = [n for n in (2, 4, 8, 16, 32, 64) if n < len(train)]
    models = {n: mc.KernelPCA(n, kernel=kernel).fit(train) for n in {*sizes, size}}
    denoised = {n: model.denoise(noisy) for n, model in models.items()}
    return {
        "model": models[size],
        "clean": clean,
        "noisy": noisy,
        "denoised": denoised[size],
        "sizes": sizes,
        "errors": [np.mean(np.sum((denoised[n] - clean) ** 2, axis=1)) for n in sizes],
        "error": np.mean(np.sum((noisy - clean) ** 2, axis=1)),
    }


def vectors(
    X: np.ndarray, y: np.ndarray, kernel: mc.Kernel, C: float, size: int
) -> dict[str, object]:
    """Compress a support vector machine; return its test errors, and the model with at most ``size`` vectors."""
    from sklearn.model_selection import train_test_split

    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    full = mc.SVC(C, kernel=kernel).fit(train, y_train)
    sizes = [n for n in sorted({4, 16, 64, size}) if n < len(full.support_)]
    models = {n: mc.compress(full, train, y_train, n_vectors=n, random_state=0) for n in sizes}
    return {
        "model": models.get(size, full),
        "n_test": len(test),
        "sizes": sizes,
        "errors": [1 - model.score(test, y_test) for model in models.values()],
        "n_full": len(full.support_),
        "error": 1 - full.score(test, y_test),
    }
