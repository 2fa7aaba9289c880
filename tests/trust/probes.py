"""All probes: calls x arguments x bad values and containers, estimators x relations, and laws x seeds."""

import functools
import random
from collections import Counter
from dataclasses import dataclass

from tests.trust import (
    bad_kernels,
    commands,
    containers,
    defects,
    estimators,
    functions,
    laws,
    relations,
    rules,
)


@dataclass(frozen=True)
class Probe:
    """One probe: its name, its library, its area for the report, and the function that scores it."""

    name: str
    library: str
    area: str
    run: object


AREAS = {"labels": "targets", "reals": "targets", "sample weights": "weights", "kernel": "kernels"}


def _area(kind):
    if kind in ("rows", "rows or none", "training rows", "fitted rows", "matrix"):
        return "points"
    return AREAS.get(kind, "parameters")


def _of_call(call):
    for name in call.arguments:
        kind = call.kind(name)
        bad = list(defects.BY_KIND[kind])
        if kind == "kernel" and call.name.endswith(".fit"):
            bad += bad_kernels.REFUSED
            bad += bad_kernels.INDEFINITE if call.library == "mercer" else []
        for defect in bad:
            score = functools.partial(rules.refusal, call, name, defect)
            yield Probe(
                f"{call.library}:{call.name}:{name}:{defect.name}", call.library, _area(kind), score
            )
        for same in containers.BY_KIND.get(kind, ()):
            if same.fate == "renamed" and not call.name.endswith((".fit", "svc_path")):
                # other functions take the names of classes that their model knows
                continue
            score = functools.partial(rules.sameness, call, name, same)
            yield Probe(
                f"{call.library}:{call.name}:{name}:as_{same.name}",
                call.library,
                "containers",
                score,
            )


def _of_relation(spec, relation):
    def score():
        sides = relation.sides(spec, relations.plain(spec))
        return rules.agreement(functools.partial(relations.answers, spec), sides, relation.rtol)

    return Probe(f"{spec.library}:{spec.name}:{relation.name}", spec.library, "relations", score)


@functools.cache
def all_probes():
    """Return all probes by name."""
    found = [
        probe
        for call in [*estimators.all_calls(), *functions.all_calls()]
        for probe in _of_call(call)
    ]
    found += [_of_relation(spec, relation) for spec, relation in relations.applicable()]
    found += [
        Probe(
            f"mercer:command.{name}", "mercer", "commands", functools.partial(commands.score, words)
        )
        for name, words in commands.all_commands()
    ]
    found += [
        Probe(f"mercer:law.{name}", "mercer", "laws", score) for name, score in laws.all_laws()
    ]
    names = Counter(probe.name for probe in found)
    assert len(names) == len(found), [name for name, times in names.items() if times > 1][:5]
    return {probe.name: probe for probe in found}


def draw(probes, n, seed):
    """Return about n names of probes, drawn with a seed; a name is drawn or not whatever other names there are."""
    return [name for name in probes if random.Random(f"{seed} {name}").random() < n / len(probes)]
