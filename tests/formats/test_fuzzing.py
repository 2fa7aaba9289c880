"""Ten thousand mutated model files are refused, or give what an independent reading of the same bytes gives.

A file of Mercer has a checksum, so a mutant must be refused, and a mutant with a new checksum must be refused or work.
A LIBSVM text has no checksum, and a changed digit gives another valid model: a mutant must be refused, or give the
outputs that a naive reader of the text computes.
"""

import copy
import functools
import math
import operator
import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.formats.forging import START, sealed, with_header
from tests.formats.golden import make

import mercer as mc
from mercer.formats import model_file
from mercer.formats.libsvm import read_model

FOLDER = Path(__file__).parent / "golden" / "version1"
FILES = {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.mercer"))}
TEXTS = [path.read_text() for path in sorted(FOLDER.glob("*.libsvm"))]
TEXTS += [
    "svm_type c_svc\nkernel_type polynomial\ndegree 2\ngamma 0.5\ncoef0 1\nnr_class 3\ntotal_sv 3\nrho 0.1 0.2 0.3\n"
    "label 1 2 3\nnr_sv 1 1 1\nprobA 1 1 1\nprobB 0 0 0\nSV\n1 0.5 1:1 2:2 \n-1 0.5 1:2 \n-0.5 -0.5 2:1e-3 3:4 \n",
    "svm_type nu_svr\nkernel_type sigmoid\ngamma 0.25\ncoef0 -.5\nnr_class 2\n"
    "total_sv 2\nrho -1e1\nSV\n2 1:1\n-2 3:1\n",
]
POINTS = np.array([[0.0, 0, 0, 0, 0], [1, -2, 0.5, 3, 1], [-0.25, 1, 1, 0, 2]])
NUMBERS = [0, 1, 2, 3, 47, 48, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
WORDS = [
    "nan",
    "inf",
    "-1",
    "0",
    "1e309",
    "1e-400",
    "0x1p3",
    "1_0",
    "+5",
    "99999999999",
    "2147483648",
    ":",
    "SV",
    "\x00",
]


def mutant(source, content, others):
    """Return bytes with one to three faults of the kinds that disks, networks and forgers make."""
    content = bytearray(content)
    for _ in range(source.randint(1, 3)):
        at = source.randrange(len(content) + 1)
        end = min(len(content), at + source.choice([1, 1, 2, 8, 64, 500]))
        kind = source.randrange(9)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << source.randrange(8)
        elif kind == 1 and at < len(content):
            content[at] = source.randrange(256)
        elif kind == 2:
            del content[at:end]
        elif kind == 3:
            content[at:at] = content[at:end]
        elif kind == 4:
            content[at:at] = source.randbytes(source.choice([1, 4, 64]))
        elif kind == 5:
            del content[at:]
        elif kind == 6:
            content[at:end] = bytes(end - at)
        elif kind == 7:
            other = source.choice(others)
            content[at:] = other[source.randrange(len(other)) :]
        else:
            at -= at % 8
            content[at : at + 8] = source.choice(NUMBERS).to_bytes(
                8, source.choice(["little", "big"])
            )
        content = content or bytearray(1)
    return bytes(content)


def check_damaged(source, n, path):
    """Load damaged files; every one that differs from the original must be refused."""
    others = list(FILES.values())
    for i in range(n):
        original = source.choice(others)
        content = mutant(source, original, others)
        try:
            if i % 10:
                model_file.parse(np.frombuffer(content, np.uint8))
            else:
                path.write_bytes(content)
                mc.load(path)
        except mc.ModelFileError:
            continue
        assert content in others


TOKEN = re.compile(rb'-?\d+\.?\d*(?:e-?\d+)?|"[^"]*"|[\[\]{}]|null|true|false')


def forged(source, content):
    """Return a sealed file with tokens of its header exchanged, or its arrays damaged."""
    length = int.from_bytes(content[40:48], "little")
    header, arrays = (
        content[START : START + length],
        content[START + length + -(START + length) % 64 :],
    )
    for _ in range(source.randint(1, 2)):
        tokens = list(TOKEN.finditer(header))
        if source.random() < 0.3 and arrays:
            arrays = bytearray(arrays)
            arrays[source.randrange(len(arrays))] ^= 1 << source.randrange(8)
        elif tokens:
            one = source.choice(tokens)
            new = (
                source.choice(tokens).group()
                if source.random() < 0.7
                else str(source.choice(NUMBERS)).encode()
            )
            header = header[: one.start()] + new + header[one.end() :]
    head = content[:40] + len(header).to_bytes(8, "little") + header
    return sealed(head + bytes(-len(head) % 64) + bytes(arrays))


def _width(model, given):
    """Return the number of columns that a model takes."""
    return (
        model.points.shape[1]
        if isinstance(model, mc.Expansion)
        else getattr(model, "n_features_in_", given)
    )


def check_forged(source, n):
    """Parse forged files: those that are not refused must work on the points of their model."""
    refused = 0
    names = [name for name in FILES if name != "kernel"]
    for _ in range(n):
        name = source.choice(names)
        content = forged(source, FILES[name])
        try:
            model = model_file.parse(np.frombuffer(content, np.uint8))
        except mc.ModelFileError:
            refused += 1
            continue
        new = make.new_points(name)
        if isinstance(model, mc.Kernel) or _width(model, new.shape[1]) != new.shape[1]:
            continue
        try:
            with np.errstate(all="ignore"):
                found = make.answers(model, new)
        except ValueError as error:
            # numbers so large that outputs overflow are an error of the prediction
            if not re.search("overflow|scale X|NaN|finite", str(error)):
                raise
        else:
            assert all(len(values) == len(new) for values in found.values())
    assert 0 < refused < n


# Values that a field of a model does not hold, as nodes of a header.
STRANGE = [None, 0, -1, 2, 1.5, 1e308, "x", "", "ovr", "precomputed", True, [], [1], ["a"]]
STRANGE += [
    {"tuple": []},
    {"tuple": [1, 2]},
    {"float": "nan"},
    {"dict": [["a", 1]]},
    {"set": []},
    {"objects": [[1], ["a"]]},
]
STRANGE += [
    {"points": ["ab", "b"]},
    {"record": ["Gaussian", {"gamma": 1.0}]},
    {"array": 0},
    {"array": 1},
]
# Errors of code that met what it did not expect.
RAW = LookupError, ArithmeticError, NameError, AssertionError, RecursionError, MemoryError


def _places(tree, path=()):
    """Yield the path of each node below the root of a tree."""
    for key, child in (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree if isinstance(tree, list) else ())
    ):
        yield (*path, key)
        yield from _places(child, (*path, key))


def _exchange(source, header):
    """Delete a node of a model, or replace it by another node or a strange value."""
    places = list(_places(header["model"]))
    *above, last = source.choice(places)
    parent = functools.reduce(operator.getitem, above, header["model"])
    kind = source.random()
    if kind < 0.2 and isinstance(parent, dict) and len(parent) > 1:
        del parent[last]
    elif kind < 0.4:
        parent[last] = copy.deepcopy(
            functools.reduce(operator.getitem, source.choice(places), header["model"])
        )
    else:
        parent[last] = copy.deepcopy(source.choice(STRANGE))


def _surprised(model, new):
    """Return the methods and properties of a model whose errors are those of code that met what it did not expect."""
    names = [
        "decision_function",
        "predict",
        "predict_proba",
        "transform",
        "score_samples",
        "predict_interval",
    ]
    calls = {
        name: lambda name=name: getattr(model, name)(new)
        for name in names
        if hasattr(type(model), name)
    }
    if hasattr(type(model), "inverse_transform"):
        calls["inverse_transform"] = lambda: model.inverse_transform(model.transform(new))
    computed = [name for name in dir(type(model)) if _is_computed(type(model), name)]
    calls |= {name: functools.partial(getattr, model, name) for name in computed}
    found = {}
    for name, call in calls.items():
        try:
            call()
        except (*RAW, AttributeError) as error:
            # what Mercer and scikit-learn say starts with other words, except of a scaler that became the last step
            if (
                isinstance(error, RAW)
                or str(error).startswith("'")
                and "'StandardScaler'" not in str(error)
            ):
                found[name] = error
        except (ValueError, TypeError, NotImplementedError):
            continue
    return found


def _is_computed(cls, name):
    return isinstance(getattr(cls, name, None), (property, functools.cached_property))


def check_exchanged(source, n):
    """Parse sealed files with exchanged nodes: those that are not refused raise no error of unexpected values later."""
    refused = 0
    names = [name for name in FILES if name != "kernel"]
    for _ in range(n):
        name = source.choice(names)
        content = with_header(FILES[name], functools.partial(_exchange, source))
        try:
            model = model_file.parse(np.frombuffer(content, np.uint8))
        except mc.ModelFileError:
            refused += 1
            continue
        new = make.new_points(name)
        if not isinstance(model, mc.Kernel) and _width(model, new.shape[1]) == new.shape[1]:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = _surprised(model, new)
                # properties of scikit-learn that no model of a class has
                known = (
                    _surprised(model_file.parse(np.frombuffer(FILES[name], np.uint8)), new)
                    if found
                    else {}
                )
            assert {key: error for key, error in found.items() if key not in known} == {}, name
    assert 0 < refused < n


def linear(x, z, **_):
    """Return <x, z>, and what rounding can make of it."""
    return math.fsum(map(operator.mul, x, z)), 1e-13 * math.fsum(
        abs(a * b) for a, b in zip(x, z, strict=True)
    )


def polynomial(x, z, degree, gamma, coef0, **_):
    dot, doubt = linear(x, z)
    most = gamma * doubt * 1e13 + abs(coef0)
    return (gamma * dot + coef0) ** int(degree), 1e-13 * degree * most ** int(degree)


def rbf(x, z, gamma, farthest):
    # distances are computed from a common centre, which one vector far away moves
    return math.exp(-gamma * math.dist(x, z) ** 2), 1e-14 * gamma * (1 + farthest) ** 2


def sigmoid(x, z, gamma, coef0, **_):
    dot, doubt = linear(x, z)
    return math.tanh(gamma * dot + coef0), gamma * doubt + 1e-13 * abs(coef0)


def naive_outputs(text, points):
    """Return LIBSVM's decision values of a text, and what rounding can make of them, by the plainest reading of it."""
    head, body = re.split(r"(?m)^\s*SV\s*$", text, maxsplit=1)
    header = {words[0]: words[1:] for line in head.split("\n") if (words := line.split())}
    number = {key: float(header[key][0]) for key in ("degree", "gamma", "coef0") if key in header}
    kernel_of = {"linear": linear, "polynomial": polynomial, "rbf": rbf, "sigmoid": sigmoid}
    kernel, rho = kernel_of[header["kernel_type"][0]], [float(word) for word in header["rho"]]
    c = int(header["nr_class"][0])
    owners = [k for k, size in enumerate(header.get("nr_sv", [])) for _ in range(int(size))]
    lines = [line.split() for line in body.split("\n") if line.strip()]
    vectors = []
    for words in lines:
        vectors.append([0.0] * points.shape[1])
        for pair in words[c - 1 :]:
            vectors[-1][int(pair.split(":")[0]) - 1] = float(pair.split(":")[1])
    if header["kernel_type"][0] == "rbf":
        number["farthest"] = max((math.hypot(*z) for z in vectors), default=0.0)
    outputs, doubts = [], []
    for x in points.tolist():
        doubt = 0.0
        sums = {
            pair: [-r]
            for pair, r in zip(
                ((i, j) for i in range(c) for j in range(i + 1, c)), rho, strict=True
            )
        }
        for row, (words, z) in enumerate(zip(lines, vectors, strict=True)):
            value, error = kernel(x, z, **number)
            doubt += (error + 1e-13 * abs(value)) * max(abs(float(word)) for word in words[: c - 1])
            for i, j in sums:
                if not owners or c == 2:
                    sums[i, j].append(float(words[0]) * value)
                elif owners[row] == i:
                    sums[i, j].append(float(words[j - 1]) * value)
                elif owners[row] == j:
                    sums[i, j].append(float(words[i]) * value)
        outputs.append([math.fsum(terms) for terms in sums.values()])
        doubts.append([doubt + 1e-13 * abs(r) for r in rho])
    return np.array(outputs), np.array(doubts)


def check_text(source, n):
    """Read mutated texts: a text that is not refused has the outputs of a naive reading."""
    refused = read = 0
    others = [text.encode() for text in TEXTS]
    for _ in range(n):
        text = source.choice(TEXTS)
        if source.random() < 0.6:
            words = re.split(r"(\s+|:)", text)
            words[source.randrange(len(words))] = source.choice([*WORDS, *words[:40], ""])
            text = "".join(words)
        else:
            text = mutant(source, text.encode(), others).decode("latin-1")
        try:
            model = read_model(text, n_features=5)
        except mc.ModelFileError as error:
            if not re.match(r"line \d+: ", str(error)):
                raise
            refused += 1
            continue
        if model.expansion.kernel.tags.points != "rows":
            # given values: numbered points, no coordinates
            continue
        read += 1
        try:
            with np.errstate(all="ignore"):
                outputs = model(POINTS)
        except ValueError as error:
            if not re.search("overflow|scale X", str(error)):
                raise
            continue
        try:
            expected, doubts = naive_outputs(text, POINTS)
        except OverflowError:
            assert not np.isfinite(outputs).all()
            continue
        finite = np.isfinite(expected)
        assert (np.isfinite(outputs) == finite).all()
        assert (abs(outputs - expected)[finite] <= 1e-12 + doubts[finite]).all(), text
    assert refused
    assert read


def check(seed, damaged, sealed, exchanged, texts, path):
    source = random.Random(seed)
    check_damaged(source, damaged, path)
    check_forged(source, sealed)
    check_exchanged(source, exchanged)
    check_text(source, texts)


def test_ten_thousand_mutated_files_are_refused_or_read_correctly(global_random_seed, tmp_path):
    check(global_random_seed, 6_000, 1_000, 500, 2_500, tmp_path / "model")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_mutated_files_are_refused_or_read_correctly(part, tmp_path):
    check(1000 + part, 6_000, 1_000, 500, 2_500, tmp_path / "model")


def test_every_token_of_a_small_text_exchanged_by_every_other_word_is_refused_or_read_correctly():
    words = re.split(r"(\s+|:)", TEXTS[-2])
    assert len(words) > 60
    for place in range(len(words)):
        for word in WORDS:
            text = "".join([*words[:place], word, *words[place + 1 :]])
            check_text_once(text)


def check_text_once(text):
    try:
        model = read_model(text, n_features=5)
        with np.errstate(all="ignore"):
            outputs = model(POINTS)
    except ValueError:
        return
    expected, doubts = naive_outputs(text, POINTS)
    assert (abs(outputs - expected) <= 1e-12 + doubts).all()
