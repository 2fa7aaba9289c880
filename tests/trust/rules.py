"""Rules that score one probe: is an error clear, is a result finite, is the estimator unchanged.

Outcomes: ok, silent (a bad value was used, or a wrong answer was given without a word), nan, crash, hang, unclear.
"""

import dataclasses
import re
import warnings
from dataclasses import dataclass

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError
from tests.trust import data
from tests.trust.calls import MOST_VALUES

import mercer as mc

RIGHT = {
    ValueError,
    TypeError,
    MemoryError,
    NotFittedError,
    InvalidParameterError,
    mc.ModelFileError,
    FileNotFoundError,
    IsADirectoryError,
    PermissionError,
}
# other words for an argument
SAME = {
    "X": r"X|Input|array|data|points?|rows?|samples?",
    "y": r"y|labels?|targets?|class(es)?|Input",
    "sample_weight": r"(sample_)?weights?",
    "phi": r"phi|psi|[Ee]xpansion",
    "psi": r"phi|psi|[Ee]xpansion",
    "k": r"k|kernel",
    "kernel": r"kernel|callable|function",
    "path": r"path|file|folder|directory|name",
    "coef": r"coef(ficients)?",
    "random_state": r"random_state|RandomState|seed",
    "model": r"model|fitted|estimator|save|as_expansion|write_libsvm|to_c|to_onnx|compress",
    "fitted": r"model|fitted|estimator|as_expansion",
    "estimator": r"estimator|model",
    "model_or_kernel": r"model|kernel|model_or_kernel|estimator",
    "points": r"points|X",
    "Y": r"Y|targets",
}
REMEDY = (
    r"(?i)must|should|expect|requires?|minimum|needs?|give|use|pass|remove|impute|write|reshape|choose|lower|fill|"
    r"scale|divide|allowed|supported|accepts?|convert|fit|call|drop|No such file|Is a directory"
)
LONGEST = 1000
WORST = ("crash", "hang", "silent", "nan", "unclear", "ok")


@dataclass(frozen=True)
class Outcome:
    """Result of one probe: its kind, and a line of evidence."""

    kind: str
    evidence: str = ""


def numbers(thing, depth=0):
    """Yield the arrays of floating-point numbers in a result."""
    if isinstance(thing, float | np.floating):
        yield np.asarray(thing)
    elif sp.issparse(thing):
        yield from numbers(thing.toarray())
    elif isinstance(thing, np.ndarray):
        if thing.dtype.kind == "f":
            yield thing
    elif isinstance(thing, mc.Expansion):
        yield from numbers([thing.coef, thing.points], depth + 1)
    elif depth < 4 and isinstance(thing, list | tuple):
        for part in thing:
            yield from numbers(part, depth + 1)
    elif depth < 4 and isinstance(thing, dict):
        yield from numbers(list(thing.values()), depth + 1)
    elif depth < 4 and dataclasses.is_dataclass(thing) and not isinstance(thing, type | mc.Kernel):
        parts = [getattr(thing, field.name, None) for field in dataclasses.fields(thing)]
        yield from numbers(parts, depth + 1)


def not_finite(result):
    """Return what is not finite in a result, or None."""
    for values in numbers(result):
        if not np.isfinite(values).all():
            return "NaN" if np.isnan(values).any() else "infinity"
    return None


def unclear(error, name, value, defect):
    """Return why the message of an error is not clear, or None."""
    message = "\n".join([str(error), *getattr(error, "__notes__", [])])
    # an error of the user's own function passes, with a note that names the function
    if type(error) not in RIGHT and not getattr(error, "__notes__", []):
        return f"{type(error).__name__} is not the right type of error"
    if not re.search(rf"(?<![A-Za-z_])({SAME.get(name, name)})(?![A-Za-z_])", message):
        return f"{name} is not named"
    shown = defect.shows or "|".join(re.escape(text) for text in _texts(value))
    if not re.search(shown, message):
        return "the value is not shown"
    if not re.search(REMEDY, message):
        return "no remedy"
    return f"{len(message)} characters" if len(message) > LONGEST else None


def _texts(value):
    texts = [repr(value)[:15], str(value)[:15], type(value).__name__]
    if isinstance(value, list) and value:
        # an element of the wrong type is enough
        texts.append(f"got {value[0]!r} of type")
    if isinstance(value, float) and value == int(value if np.isfinite(value) else 0.5):
        texts.append(str(int(value)))
    return [text for text in texts if text]


def attempt(run):
    """Return the result or None, the error or None, and messages of the floating-point warnings and other warnings."""
    floating, other = [], []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = run(), None
        except Exception as failure:
            result, error = None, failure
    for each in caught:
        if not issubclass(each.category, (FutureWarning, DeprecationWarning)):
            (floating if each.category is RuntimeWarning else other).append(str(each.message))
    return result, error, floating, other


def fingerprint(thing):
    """Return a hash of the attributes of an object, without what it prepared of them."""
    return joblib.hash(
        {
            name: value
            for name, value in vars(thing).items()
            if not name.startswith(("_skl", "_prepared"))
        }
    )


def refusal(call, name, defect):
    """Score a call with one bad argument."""
    arguments = {key: call.valid(key) for key in call.arguments}
    value = arguments[name] = defect.make(arguments[name])
    data.computed[0] = 0
    before = []
    result, error, floating, other = attempt(lambda: call.run(arguments, before))
    if error is None:
        return _score_result(result, defect, floating, other)
    text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    reason = unclear(error, name, value, defect)
    if reason is None and floating:
        reason = f"NumPy warns: {floating[0][:80]}"
    if reason is None and defect.fate == "refuse" and data.computed[0] > MOST_VALUES:
        reason = f"{data.computed[0]} kernel values were computed first"
    if reason is None and any(fingerprint(thing) != mark for thing, mark in before):
        reason = "the estimator changed"
    return Outcome("unclear", f"{reason}; {text}") if reason else Outcome("ok", text)


def _score_result(result, defect, floating, other):
    bad = not_finite(result)
    if bad:
        return Outcome(
            "nan",
            f"{bad} in {type(result).__name__}" + (f"; warned: {other[0][:100]}" if other else ""),
        )
    if defect.fate == "refuse":
        return Outcome(
            "silent",
            f"accepted; {type(result).__name__} returned"
            + (f"; warned: {other[0][:100]}" if other else ""),
        )
    if defect.fate == "warns" and not other:
        return Outcome("silent", "no warning")
    if floating:
        return Outcome("unclear", f"NumPy warns: {floating[0][:100]}")
    return Outcome("ok", "finite result")


def sameness(call, name, defect):
    """Score a call with the same values in another container."""
    valid = {key: call.valid(key) for key in call.arguments}
    expected = list(numbers(call.answer(call.run(dict(valid), []))))
    value = valid[name] = defect.make(valid[name])
    result, error, floating, other = attempt(lambda: call.run(valid, []))
    if error is not None:
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if defect.fate != "same or refuse":
            return Outcome("unclear", f"refuses valid values; {text}")
        reason = unclear(error, name, value, defect)
        return Outcome("unclear", f"{reason}; {text}") if reason else Outcome("ok", text)
    if not_finite(result):
        return Outcome("nan", f"{not_finite(result)} in the result")
    difference = distance(expected, list(numbers(call.answer(result))))
    if difference > (2e-3 if defect.fate == "near" else 1e-6) and not other:
        return Outcome("silent", f"the result differs by {difference:.1e}")
    return (
        Outcome("unclear", f"NumPy warns: {floating[0][:100]}")
        if floating
        else Outcome("ok", f"{difference:.1e}")
    )


def distance(expected, found):
    """Return the largest difference of two lists of arrays, relative to the largest entry of each."""
    if [each.shape for each in expected] != [each.shape for each in found]:
        return np.inf
    pairs = [
        (np.asarray(a, float), np.asarray(b, float))
        for a, b in zip(expected, found, strict=True)
        if np.size(a)
    ]
    # equal infinities, such as bounds that say nothing, do not differ
    pairs = [[np.where(np.isinf(a) & (a == b), 0.0, each) for each in (a, b)] for a, b in pairs]
    # numbers that are rounding errors of others have no digits of their own
    least = 1e-6 * max((abs(a).max() for a, _ in pairs), default=0.0)
    with np.errstate(invalid="ignore"):
        shares = [abs(a - b).max() / max(abs(a).max(), least, 1e-300) for a, b in pairs]
    return float(np.max(np.nan_to_num([*shares, 0.0], nan=np.inf, posinf=np.inf)))


def agreement(answers, problems, rtol):
    """Score two problems with one answer."""
    expected = answers(problems[0])
    found, error, floating, other = attempt(lambda: answers(problems[1]))
    if error is not None:
        clear = type(error) in RIGHT and re.search(REMEDY, str(error))
        return Outcome(
            "ok" if clear else "unclear",
            f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
        )
    if not_finite(found):
        return Outcome("nan", f"{not_finite(found)} in the outputs")
    difference = distance(list(expected.values()), list(found.values()))
    if difference > rtol:
        kind = "ok" if other else "silent"
        return Outcome(
            kind,
            f"outputs differ by {difference:.1e}"
            + (f"; warned: {other[0][:100]}" if other else ""),
        )
    return (
        Outcome("unclear", f"NumPy warns: {floating[0][:100]}")
        if floating
        else Outcome("ok", f"{difference:.1e}")
    )
