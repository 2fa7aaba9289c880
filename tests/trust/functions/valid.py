"""Valid values of the arguments of public functions, each with its kind."""

import functools

import numpy as np
from tests.trust import data

import mercer as mc

X, NEW, KERNEL = data.X, data.NEW, data.KERNEL


def valid(kind, value):
    return kind, lambda: value


@functools.cache
def svc():
    return mc.SVC(kernel=KERNEL).fit(X, data.TWO)


@functools.cache
def svr():
    return mc.SVR(kernel=KERNEL, epsilon=0.05).fit(X, data.TARGETS)


@functools.cache
def spectrum():
    return mc.capacity.spectrum(KERNEL, X, centre=False)


@functools.cache
def coordinates():
    return mc.maps.triangular(mc.features(KERNEL, X[:9]), centre=False)


@functools.cache
def model():
    return mc.capacity.model(svc(), X, data.TWO)


ROWS, SOME, K = valid("rows", X), valid("rows", NEW), valid("kernel", KERNEL)
MEMORY, STATE, SHARE, FLAG = (
    valid("memory", "1GB"),
    valid("random state", 0),
    valid("confidence", 0.9),
    valid("flag", True),
)
PHI = "expansion", lambda: mc.features(KERNEL, X)
PSI = "expansion", lambda: mc.features(KERNEL, X) @ np.cos(np.arange(48.0))
SVC, SVR, MODEL = ("model", svc), ("model", svr), ("expansion", model)
LABELS, REALS, WEIGHTS = (
    valid("labels", data.TWO),
    valid("reals", data.TARGETS),
    valid("sample weights", data.WEIGHTS),
)
SPECTRUM, MAP = ("expansion", spectrum), ("expansion", coordinates)
POSITIVE, COUNT, WIDTH = valid("positive", 0.5), valid("count", 3), valid("positive", 1.0)
DECAY = valid("expansion", mc.capacity.PolynomialDecay(2.0))
