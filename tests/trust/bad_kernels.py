"""Kernels that estimators must refuse, and indefinite kernels, of which they must at least warn."""

import numpy as np
from tests.trust import data
from tests.trust.defects import Defect

import mercer as mc


def not_a_number(A, B):
    K = data.KERNEL(A, B)
    K[0, -1] = np.nan
    return K


def infinite(A, B):
    K = data.KERNEL(A, B)
    K[-1, 0] = np.inf
    return K


def too_few_columns(A, B):
    return data.KERNEL(A, B)[:, 1:]


def flat(A, B):
    return data.KERNEL(A, B).ravel()


def complex_values(A, B):
    return data.KERNEL(A, B) + 0.5j


def text(A, B):
    return np.full((len(A), len(B)), "word")


def nothing(A, B):
    return None


def centred_by_block(A, B):
    return (A - A.mean(0)) @ (B - A.mean(0)).T


def scaled_by_block(A, B):
    K = A @ B.T
    return K / abs(K).max()


def square_only(A, B):
    if len(A) != len(B):
        raise RuntimeError("square blocks only")
    return data.KERNEL(A, B)


def one_sided(A, B):
    return np.exp(-((A[:, None, 0] - 2 * B[None, :, 0]) ** 2))


def slightly_one_sided(A, B):
    return data.KERNEL(A, B) * (1 + 1e-3 * A[:, :1])


def raising(A, B):
    raise ZeroDivisionError("division by zero")


def changing(A, B):
    return np.random.default_rng().random((len(A), len(B)))


def negated(A, B):
    return -data.KERNEL(A, B)


def minus_distance(A, B):
    return 1 - np.linalg.norm(A[:, None] - B[None], axis=2) ** 3


def difference(A, B):
    return mc.Gaussian(1.0)(A, B) - 0.9 * mc.Gaussian(8.0)(A, B)


class OnlyEvaluate(mc.Kernel):
    """A kernel without a diagonal."""

    def evaluate(self, tile):
        return tile.products


REFUSED = [
    Defect(f"callable_{f.__name__}", lambda _, f=f: f, shows=shows)
    for f, shows in {
        not_a_number: "NaN",
        infinite: "inf",
        too_few_columns: "shape",
        flat: "shape",
        complex_values: "(?i)complex",
        text: "dtype|str|word",
        nothing: "None|shape|dtype",
        centred_by_block: r"\d",
        scaled_by_block: r"\d",
        square_only: "square_only",
        one_sided: r"\d",
        slightly_one_sided: r"\d",
        raising: "raising",
        changing: r"\d",
    }.items()
]
INDEFINITE = [
    Defect("sigmoid", lambda _: mc.Sigmoid(5.0, -3.0), "warns"),
    Defect("callable_negated", lambda _: negated, "warns"),
    Defect("callable_minus_distance", lambda _: minus_distance, "warns"),
    Defect("difference", lambda _: mc.FunctionKernel(difference), "warns"),
    Defect("without_diagonal", lambda _: OnlyEvaluate(), "either"),
]
