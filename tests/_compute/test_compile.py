import gc
import importlib.util
import os
import subprocess
import sys
from types import FunctionType

import numpy as np
import pytest

from mercer._compute import numba_compiler
from mercer._compute.compile import EXACT, compiled, dispatcher, fingerprint, specialised
from mercer._compute.intrinsics import wide

SOURCE = "def total(values):\n    result = 0.0\n    for value in values:\n        result += value\n    return result\n"


@compiled
def half(x):
    return x * 0.5


@compiled
def halves(values):
    wide()
    for i in range(values.size):
        values[i] = half(values[i])


@pytest.fixture
def total(tmp_path, monkeypatch):
    """A function in a file whose machine code is kept beside it."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "module.py").write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("module", tmp_path / "module.py")
    module = importlib.util.module_from_spec(spec)
    # kept machine code names its module
    monkeypatch.setitem(sys.modules, "module", module)
    spec.loader.exec_module(module)
    numba_compiler.warn_damaged.cache_clear()
    return module.total


def kept(tmp_path):
    return sorted(path for path in tmp_path.rglob("*") if path.suffix in (".nbi", ".nbc"))


def test_importing_what_is_compiled_does_not_import_numba():
    code = "import sys; from mercer._compute import compile, loops, threads; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_compiled_functions_call_each_other():
    values = np.arange(100.0)
    halves(values)
    np.testing.assert_array_equal(values, np.arange(100.0) / 2)


def test_machine_code_calls_no_function_outside_of_it():
    # code of the same name elsewhere in the process may round differently
    from mercer.solvers.svm.smo import take_steps

    K, none, bounds = np.eye(16), np.empty(0, int), np.linspace(0.1, 1.0, 16)
    slopes, groups = (
        (bounds - 0.5, 0.5 - bounds, np.zeros(16), -bounds, bounds, 0.0),
        np.array([0, 16]),
    )
    assert (
        take_steps(K, np.arange(16), np.ones(16), *slopes, groups, K[:0], none, none, 1e-3, 5)[0]
        == 5
    )
    (overload, *_) = take_steps.dispatcher.overloads.values()
    functions = [
        each
        for each in overload.library._get_module_for_linking().functions
        if not each.is_declaration
    ]
    assert all("take_steps" in each.name for each in functions if each.linkage.name != "internal")


PROCESS = """
import sys, numpy as np, mercer as mc
rng = np.random.default_rng(29)
X = rng.standard_normal((160, 4))
kernel = mc.Cauchy(0.3) if "cauchy" in sys.argv else mc.Gaussian(0.3)
model = mc.SVC(kernel=kernel).fit(X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(160) > 0)
print(model.dual_coef_.tobytes().hex(), model.intercept_.tobytes().hex())
"""
BEFORE = """
import numpy as np
from mercer.solvers.svm.smo import subtract
subtract(np.zeros((64, 64)), np.array([1]), np.array([0.5]), np.zeros(64))
"""


@pytest.mark.slow
def test_results_are_those_of_any_process_whether_it_compiles_or_reads_machine_code(tmp_path):
    def answer(code, *options):
        environment, command = (
            os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            [sys.executable, "-c", code, *options],
        )
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    def solvers():
        units = {path.name for path in tmp_path.rglob("*.nbc")}
        return {unit for unit in units if not unit.startswith("profile.")}

    compiling = answer(PROCESS)
    # one solver beside the loop of the kernel: the functions that they call are parts of them
    before = solvers()
    assert len(before) == 1
    # another kernel compiles its own loop only
    answer(PROCESS, "cauchy")
    assert solvers() == before
    reading, after_others = answer(PROCESS), answer(BEFORE + PROCESS)
    assert compiling == reading == after_others


def test_nan_and_infinity_survive_reordered_sums():
    @compiled
    def total_and_quotient(values, zero):
        total = 0.0
        for value in values:
            total += value
        return total, values[0] / zero

    with np.errstate(all="ignore"):
        for special in (np.nan, np.inf, -np.inf):
            values = np.ones(64)
            values[40] = special
            total, quotient = total_and_quotient(values, 0.0)
            np.testing.assert_array_equal((total, quotient), (special, np.inf))


def test_machine_code_is_kept_and_found_again(total, tmp_path):
    dispatcher(total, key="total")(np.ones(3))
    again = dispatcher(total, key="total")
    again(np.ones(3))
    assert len(kept(tmp_path)) == 2
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_collected_while_machine_code_is_compiled_or_read_and_the_collector_stays_as_it_was(
    total, monkeypatch, enabled
):
    from numba.core.caching import FunctionCache
    from numba.core.compiler import CompilerBase

    seen = []

    def observed(method):
        def call(*args):
            seen.append(gc.isenabled())
            return method(*args)

        return call

    for place, name in ((FunctionCache, "load_overload"), (CompilerBase, "_compile_core")):
        monkeypatch.setattr(place, name, observed(getattr(place, name)))
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        dispatcher(total, key="total")(np.ones(3))
        assert seen == [False, False]
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777])
@pytest.mark.parametrize("open_part", ["__pycache__", "."])
def test_a_folder_is_not_used_if_others_can_write_to_any_part_of_its_path(
    total, mode, open_part, tmp_path, tmp_path_factory, monkeypatch
):
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    # byte code of the module is there
    (tmp_path / "__pycache__").mkdir(exist_ok=True)
    (tmp_path / open_part).chmod(mode)
    if mode == 0o1777:
        # the sticky bit counts in folders of root only
        foreign(monkeypatch, {tmp_path / open_part: 1000})
    assert dispatcher(total, key="total")(np.ones(3)) == 3
    assert kept(tmp_path) == []
    assert len(kept(home)) == 2


def foreign(monkeypatch, owners):
    """Let files and folders belong to others, and the process to the user of number 1000."""
    lstat = os.lstat

    def changed(path, **options):
        status = lstat(path, **options)
        found = [owner for place, owner in owners.items() if os.path.abspath(path) == str(place)]
        return os.stat_result([*status[:4], *found, *status[5:]]) if found else status

    for name, function in (("lstat", changed), ("geteuid", lambda: 1000)):
        monkeypatch.setattr(os, name, function)


@pytest.mark.parametrize("owner", ["user", "root", "another"])
@pytest.mark.parametrize("part", ["__pycache__", "."])
def test_a_folder_is_not_used_if_any_part_of_its_path_belongs_to_another_user(
    total, owner, part, tmp_path, monkeypatch
):
    (tmp_path / "__pycache__").mkdir(exist_ok=True)
    owners = dict.fromkeys([*tmp_path.parents, tmp_path, tmp_path / "__pycache__"], 0)
    foreign(
        monkeypatch, {**owners, tmp_path / part: {"user": 1000, "root": 0, "another": 1001}[owner]}
    )
    assert dispatcher(total, key="total")(np.ones(3)) == 3
    in_tree = [path for path in kept(tmp_path) if path.parent.name == "__pycache__"]
    assert len(in_tree) == (0 if owner == "another" else 2)


@pytest.mark.parametrize("change", ["mode", "owner", "link", "folder around"])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_code_that_others_can_write_after_it_was_found_is_not_read(
    total, change, suffix, tmp_path, monkeypatch
):
    dispatcher(total, key="total")(np.ones(3))
    # finds its folder now, and reads at the call
    again = dispatcher(total, key="total")
    (file,) = (path for path in kept(tmp_path) if path.suffix == suffix)
    if change == "mode":
        file.chmod(0o666)
    elif change == "owner":
        foreign(monkeypatch, {file: os.geteuid() + 1})
    elif change == "link":
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        elsewhere.chmod(0o777)
        file.symlink_to(file.rename(elsewhere / file.name))
    else:
        tmp_path.chmod(0o777)
    assert again(np.ones(3)) == 3
    assert not again.stats.cache_hits


def test_code_that_others_could_write_is_replaced(total, tmp_path):
    dispatcher(total, key="total")(np.ones(3))
    for path in kept(tmp_path):
        path.chmod(0o666)
    dispatcher(total, key="total")(np.ones(3))
    again = dispatcher(total, key="total")
    assert again(np.ones(3)) == 3
    assert sum(again.stats.cache_hits.values()) == 1
    assert not any(os.stat(path).st_mode & 0o022 for path in kept(tmp_path))


def test_links_of_the_user_to_private_folders_are_followed(total, tmp_path):
    kept_elsewhere = tmp_path / "elsewhere"
    kept_elsewhere.mkdir()
    (tmp_path / "__pycache__").symlink_to("elsewhere")
    dispatcher(total, key="total")(np.ones(3))
    again = dispatcher(total, key="total")
    again(np.ones(3))
    assert sum(again.stats.cache_hits.values()) == 1
    assert len(kept(kept_elsewhere)) == 2


def test_code_is_private_whatever_the_mask_of_the_process_allows(total, tmp_path):
    mask = os.umask(0)
    try:
        dispatcher(total, key="total")(np.ones(3))
    finally:
        os.umask(mask)
    paths = kept(tmp_path)
    assert len(paths) == 2
    assert not any(os.stat(path).st_mode & 0o022 for path in [*paths, paths[0].parent])


def test_without_any_folder_functions_are_compiled_and_not_kept(total, tmp_path, monkeypatch):
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert dispatcher(total, key="total")(np.ones(3)) == 3
    assert kept(tmp_path) == []


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["truncated", "zeros", "random", "empty", "flipped"])
def test_a_damaged_cache_costs_a_warning_and_heals(total, tmp_path, suffix, damage):
    dispatcher(total, key="total")(np.ones(3))
    (path,) = (path for path in kept(tmp_path) if path.suffix == suffix)
    content = path.read_bytes()
    path.write_bytes(
        {
            "truncated": content[: len(content) // 2],
            "zeros": bytes(len(content)),
            "random": np.random.default_rng(0).bytes(len(content)),
            "empty": b"",
            "flipped": content[:-90] + bytes([content[-90] ^ 1]) + content[-89:],
        }[damage]
    )
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert dispatcher(total, key="total")(np.ones(3)) == 3
    assert dispatcher(total, key="total")(np.ones(3)) == 3


def test_the_order_is_a_constant_of_the_compilation():
    from mercer._compute import fastmath

    def profile(xp, s, gamma, order=0):
        value = xp.abs(gamma * s)
        for _ in range(order):
            value = -gamma * value
        return value

    def value(order):
        derivative = specialised(profile, order)
        # a module is an argument inside compiled code only
        return dispatcher(lambda s, gamma: derivative(fastmath, s, gamma))(2.0, 3.0)

    for order in range(4):
        assert value(order) == 6.0 * (-3.0) ** order


def test_exact_arithmetic_is_not_reordered():
    def rounded(x):
        return (x + 6755399441055744.0) - 6755399441055744.0

    assert dispatcher(rounded, EXACT)(2.7) == 3.0


_SCALE = 2.0


def _scaled(x):
    return _SCALE * x


def test_functions_have_one_fingerprint_exactly_when_their_code_and_what_it_uses_agree(monkeypatch):
    def made(offset):
        return lambda x: _scaled(x) + offset

    before = fingerprint(made(1.0))
    assert before == fingerprint(made(1.0))
    assert before != fingerprint(made(1.5))
    assert before != fingerprint(made(1.0), 1)
    monkeypatch.setitem(globals(), "_SCALE", 3.0)
    assert before != fingerprint(made(1.0))


def test_machine_code_is_not_used_after_an_edit_of_a_function_that_it_contains(monkeypatch):
    before = fingerprint(halves)
    assert before is not None
    assert before == fingerprint(halves)
    for edited in (compiled(lambda x: x * 0.25), compiled(half.__wrapped__, flags=EXACT)):
        monkeypatch.setitem(globals(), "half", edited)
        assert fingerprint(halves) not in (None, before)


def test_equal_functions_of_two_modules_have_two_fingerprints_since_kept_code_names_the_module():
    def plus(x):
        return x + 1

    here, there = (FunctionType(plus.__code__, {"__name__": name}) for name in ("here", "there"))
    assert fingerprint(here) == fingerprint(FunctionType(plus.__code__, {"__name__": "here"}))
    assert fingerprint(here) != fingerprint(there)


def test_what_uses_an_unknown_object_has_no_fingerprint():
    unknown = object()
    assert fingerprint(lambda: unknown) is None


@pytest.mark.slow
def test_a_closure_over_compiled_code_is_read_from_disk_by_the_next_process(tmp_path):
    code = (
        "import numpy as np, mercer as mc\n"
        "from mercer._compute import profile\n"
        "mc.Gaussian(0.5)(np.zeros((2, 12)))\n"
        "mc.Gram(mc.Gaussian(0.5), np.ones((4, 12))) @ np.ones(4)\n"
        "loops = [profile._loop(mc.Gaussian.profile, 0, kind, 1) for kind in ('clamped', 'direct')]\n"
        "print(sum(sum(loop.stats.cache_hits.values()) for loop in loops),"
        " sum(sum(loop.stats.cache_misses.values()) for loop in loops))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    hits, misses = zip(*(map(int, run.split()) for run in runs), strict=True)
    assert hits[0] == 0 < misses[0]
    assert misses[1] == 0 < hits[1]
