"""checkpoint: an interrupted fit goes on from its file, and ends with the bits of an uninterrupted one."""

import contextlib
import errno
import io
import itertools
import struct
import tracemalloc
import warnings
import zipfile
import zlib

import numpy as np
import pytest
from tests.reference.inside import listening

import mercer as mc
from mercer.checkpoint import StateFile
from mercer.linalg import cg
from mercer.linalg.lanczos import lanczos

rng = np.random.default_rng(0)
X = rng.standard_normal((500, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
KERNEL = mc.Gaussian(0.5)
Q = np.linalg.qr(rng.standard_normal((500, 500)))[0]
# eigenvalues that Lanczos does not find at once
A = Q @ np.diag(1 / np.arange(1.0, 501)) @ Q.T


class Interrupted(Exception):
    """The interruption of a fit."""


def after(steps, stage):
    """Return a listener that interrupts a stage after so many steps, counting them in ``seen``."""
    seen = []

    def listen(name, **_numbers):
        if name == stage:
            seen.append(name)
            if len(seen) == steps:
                raise Interrupted

    return listen, seen


SOLVES = {
    "KernelRidge": (
        "conjugate gradients",
        lambda: mc.KernelRidge(1e-4, kernel=KERNEL, memory="1MB").fit(X, Y).dual_coef_,
    ),
    "KernelRidge, two alphas": (
        "conjugate gradients",
        lambda: mc.KernelRidge([1e-2, 1e-4], kernel=KERNEL, memory="1MB").fit(X, Y).dual_coef_,
    ),
    "cg.solve": ("conjugate gradients", lambda: cg.solve(A, Y, lambda R: R.copy())[0]),
    "lanczos": ("Lanczos products", lambda: lanczos(A, 20, tol=1e-12).vectors),
    "lanczos, many": ("Lanczos products", lambda: lanczos(A, 80, tol=1e-12).vectors),
}


@pytest.mark.parametrize("name", SOLVES)
def test_an_interrupted_solve_goes_on_and_ends_with_the_same_bits(name, tmp_path):
    stage, solve = SOLVES[name]
    path = tmp_path / "state.npz"
    listen, everything = after(None, stage)
    with listening(listen):
        expected = solve()
    assert len(everything) > 4
    for _ in range(2):
        listen, _ = after(2, stage)
        with pytest.raises(Interrupted), listening(listen), mc.checkpoint(path, every=0):
            solve()
        assert path.exists()
    listen, seen = after(None, stage)
    with listening(listen), mc.checkpoint(path, every=0):
        np.testing.assert_array_equal(solve(), expected)
    # the step that was interrupted is not in the file
    assert len(seen) == len(everything) - 2
    assert not path.exists()


def interrupted(path, solve=SOLVES["cg.solve"][1]):
    listen, _ = after(3, "conjugate gradients")
    with pytest.raises(Interrupted), listening(listen), mc.checkpoint(path, every=0):
        solve()


@pytest.mark.parametrize("right", [2 * Y, Y[:, :1]])
def test_the_state_of_another_problem_is_refused(right, tmp_path):
    interrupted(tmp_path / "state")
    with (
        pytest.raises(ValueError, match="another problem; give the data"),
        mc.checkpoint(tmp_path / "state"),
    ):
        cg.solve(A, right, lambda R: R.copy())
    with pytest.raises(ValueError, match="another problem"), mc.checkpoint(tmp_path / "state"):
        cg.solve(A + np.eye(500), Y, lambda R: R.copy())
    # it stays for the right one
    with mc.checkpoint(tmp_path / "state"):
        np.testing.assert_array_equal(
            SOLVES["cg.solve"][1](), cg.solve(A, Y, lambda R: R.copy())[0]
        )


def taken_by_its_own_problem_alone(path, solve, stage, others):
    """Assert that a state of ``solve`` is refused by other problems, also close ones, and taken by its own."""
    listen, _ = after(3, stage)
    with pytest.raises(Interrupted), listening(listen), mc.checkpoint(path, every=0):
        solve()
    for other in others:
        with pytest.raises(ValueError, match="another problem"), mc.checkpoint(path):
            other()
    with mc.checkpoint(path):
        found = solve()
    np.testing.assert_array_equal(found, solve())


NOISE = 1e-6 * rng.standard_normal((500, 3))


def test_a_basis_of_other_data_or_another_random_state_is_refused(tmp_path):
    def solve(operator=A, random_state=0):
        return lanczos(operator, 20, tol=1e-12, random_state=random_state).vectors

    others = (
        lambda: solve(A + np.diag(np.arange(500.0))),
        lambda: solve(A + 1e-6 * np.diag(np.arange(500.0) % 2)),
        lambda: solve(random_state=1),
    )
    taken_by_its_own_problem_alone(tmp_path / "state", solve, "Lanczos products", others)


def test_conjugate_gradients_of_close_data_parameters_or_another_random_state_are_refused(tmp_path):
    def solve(X=X, Y=Y, alpha=1e-4, random_state=0):
        model = mc.KernelRidge(alpha, kernel=KERNEL, memory="1MB", random_state=random_state)
        return model.fit(X, Y).dual_coef_

    others = (
        lambda: solve(X + NOISE),
        lambda: solve(Y=Y + NOISE[:, :2]),
        lambda: solve(alpha=1.001e-4),
        lambda: solve(random_state=1),
    )
    taken_by_its_own_problem_alone(tmp_path / "state", solve, "conjugate gradients", others)


STATES = {
    "SVC": (
        "passes",
        lambda: (
            mc.SVC()
            .fit(pytest.importorskip("dask.array").from_array(X, chunks=(100, 3)), Y[:, 0] > 0)
            .support_
        ),
    ),
    "cg": ("conjugate gradients", SOLVES["cg.solve"][1]),
    "lanczos": ("Lanczos products", SOLVES["lanczos"][1]),
}
NAMES = [
    ("SVC", "rows"),
    *(("cg", name) for name in ("X", "R", "P", "rz", "active", "steps", "B", "images")),
]
NAMES += [("lanczos", name) for name in ("Q", "W", "H", "new", "image", "history")]


@pytest.mark.parametrize(("solve", "name"), NAMES)
def test_a_state_without_an_array_or_with_one_of_another_kind_is_refused(solve, name, tmp_path):
    stage, run = STATES[solve]
    path = tmp_path / "state.npz"
    listen, _ = after(1 if solve == "SVC" else 3, stage)
    with pytest.raises(Interrupted), listening(listen), mc.checkpoint(path, every=0):
        run()
    with np.load(path) as file:
        state = dict(file)
    texts, block = np.array("x"), np.zeros((2, 2, 2, 2))
    for changed in ({}, {name: texts}, {name: block}):
        np.savez(path, **{key: value for key, value in state.items() if key != name}, **changed)
        with pytest.raises(ValueError, match="is that of another problem"), mc.checkpoint(path):
            run()


@pytest.mark.parametrize(("solve", "name"), [each for each in NAMES if each[0] != "SVC"])
def test_a_state_of_another_type_or_size_or_beyond_its_indices_raises_no_other_error(
    solve, name, tmp_path
):
    stage, run = STATES[solve]
    path = tmp_path / "state.npz"
    listen, _ = after(3, stage)
    with pytest.raises(Interrupted), listening(listen), mc.checkpoint(path, every=0):
        run()
    with np.load(path) as file:
        state = dict(file)
    old = state[name]
    changes = [old.astype(kind) for kind in ("?", "i8", "f4", "c16", "U9")]
    changes += [np.full_like(old, 10**9), -old, old.ravel()[:0], np.append(old, old), old.T]
    for changed in changes + ([np.full_like(old, np.nan)] if old.dtype.kind == "f" else []):
        np.savez(path, **{**state, name: changed})
        with warnings.catch_warnings(), contextlib.suppress(ValueError), mc.checkpoint(path):
            warnings.simplefilter("ignore")
            assert np.isfinite(run()).all()


@pytest.mark.parametrize("stage", ["Lanczos products", "conjugate gradients"])
def test_a_state_of_another_machine_is_taken(stage, tmp_path):
    def solve(operator):
        if stage == "conjugate gradients":
            return cg.solve(operator + 0.01 * np.eye(500), Y, np.copy, tol=1e-12)[0]
        return np.abs(lanczos(operator, 20, tol=1e-12).vectors)

    listen, _ = after(3, stage)
    with (
        pytest.raises(Interrupted),
        listening(listen),
        mc.checkpoint(tmp_path / "state", every=0),
    ):
        solve(A)
    # its products differ by rounding
    with mc.checkpoint(tmp_path / "state"):
        found = solve(A * (1 + 1e-14 * rng.standard_normal((500, 1))))
    np.testing.assert_allclose(found, solve(A), atol=1e-9)


def test_a_state_waits_for_its_solve_and_a_warning_says_that_nobody_asked(tmp_path):
    interrupted(tmp_path / "state")
    stored = (tmp_path / "state").read_bytes()
    with pytest.warns(UserWarning, match="another solve, conjugate gradients of order 500"), \
            mc.checkpoint(tmp_path / "state", every=0):  # fmt: skip
        lanczos(A, 20)
    assert (tmp_path / "state").read_bytes() == stored


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 broken"])
def test_other_files_are_refused_and_kept(content, tmp_path):
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(ValueError, match="is not a checkpoint"), mc.checkpoint(tmp_path / "state"):
        pass
    assert (tmp_path / "state").read_bytes() == content


def test_a_damaged_byte_in_the_directory_of_the_file_gives_no_other_error(tmp_path):
    np.savez(tmp_path / "state.npz", solve="conjugate gradients", X=np.arange(3))
    whole = (tmp_path / "state.npz").read_bytes()
    start = whole.index(b"PK\x01\x02")
    for i, flipped in itertools.product(range(start, len(whole)), (1, 8, 128, 255)):
        (tmp_path / "state.npz").write_bytes(
            whole[:i] + bytes([whole[i] ^ flipped]) + whole[i + 1 :]
        )
        with contextlib.suppress(ValueError):
            StateFile(tmp_path / "state.npz", 0)


def _overlapping(path, n, size):
    """Write an archive whose members each hold the next ones, which unpack to n / 2 times its size."""
    nested, entries = bytes(size), []
    for i in reversed(range(n)):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "|u1", "fortran_order": False, "shape": (len(nested),)}
        )
        data = header.getvalue() + nested
        name = b"solve.npy" if i == 0 else b"%d.npy" % i
        sizes = struct.pack("<III", zlib.crc32(data), len(data), len(data))
        head = (
            struct.pack("<IHHHHH", 0x04034B50, 20, 0, 0, 0, 0)
            + sizes
            + struct.pack("<HH", len(name), 0)
        )
        nested = head + name + data
        entries.append((name, sizes, len(nested)))
    places = [
        struct.pack("<IHHHHHH", 0x02014B50, 20, 20, 0, 0, 0, 0) + sizes
        + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, len(nested) - end) + name
        for name, sizes, end in entries
    ]  # fmt: skip
    directory = b"".join(places)
    ends = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, n, n, len(directory), len(nested), 0)
    path.write_bytes(nested + directory + ends)


@pytest.mark.parametrize("kind", ["compressed", "overlapping", "claims"])
def test_a_file_whose_arrays_are_larger_than_itself_is_refused_before_memory_is_taken(
    kind, tmp_path
):
    path = tmp_path / "state.npz"
    if kind == "compressed":
        np.savez_compressed(path, solve=np.array("x"), X=np.zeros(10**6))
    elif kind == "overlapping":
        _overlapping(path, 300, 20_000)
    else:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
        )
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", header.getvalue())
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="is not a checkpoint"), mc.checkpoint(path):
            pass
        # a claim of petabytes is refused by the system, and counted here
        assert kind == "claims" or tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()


def test_a_part_that_is_no_array_is_refused(tmp_path):
    np.savez(tmp_path / "state.npz", solve="conjugate gradients of order 500")
    with zipfile.ZipFile(tmp_path / "state.npz", "a") as archive:
        archive.writestr("X", b"123")
    with (
        pytest.raises(ValueError, match="not all parts are arrays"),
        mc.checkpoint(tmp_path / "state.npz"),
    ):
        pass


def test_an_array_without_a_readable_header_is_no_checkpoint(tmp_path):
    with zipfile.ZipFile(tmp_path / "state.npz", "w") as archive:
        archive.writestr("solve.npy", b"\x93NUMPY\x01\x00\x76\x00" + b"{'shape': ((".ljust(118))
    with pytest.raises(ValueError, match="is not a checkpoint"):
        StateFile(tmp_path / "state.npz", 0)


def test_the_second_of_several_alphas_goes_on_and_the_first_is_computed_again(tmp_path):
    stage, solve = SOLVES["KernelRidge, two alphas"]
    listen, everything = after(None, stage)
    with listening(listen):
        expected = solve()
    listen, _ = after(len(everything) - 1, stage)
    with (
        pytest.raises(Interrupted),
        listening(listen),
        mc.checkpoint(tmp_path / "state", every=0),
    ):
        solve()
    listen, seen = after(None, stage)
    with listening(listen), mc.checkpoint(tmp_path / "state", every=0):
        np.testing.assert_array_equal(solve(), expected)
    assert len(seen) < len(everything)
    assert not (tmp_path / "state").exists()


def test_a_full_disk_ends_no_fit_and_keeps_the_last_state(tmp_path, failing):
    interrupted(tmp_path / "state")
    stored = (tmp_path / "state").read_bytes()

    full = failing("fsync", OSError(errno.ENOSPC, "No space left on device"))
    listen, _ = after(2, "conjugate gradients")
    with pytest.warns(UserWarning, match="not written.*No space left"), pytest.raises(Interrupted), \
            full, listening(listen), mc.checkpoint(tmp_path / "state", every=0):  # fmt: skip
        SOLVES["cg.solve"][1]()
    assert (tmp_path / "state").read_bytes() == stored
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_file_that_cannot_be_removed_ends_no_fit(tmp_path, failing):
    refused = failing("unlink", PermissionError(errno.EACCES, "Permission denied", "state"))
    with refused, pytest.warns(UserWarning, match="not removed: .*Permission denied.*remove it"), \
            mc.checkpoint(tmp_path / "state", every=0):  # fmt: skip
        found = SOLVES["cg.solve"][1]()
    np.testing.assert_array_equal(found, SOLVES["cg.solve"][1]())


def test_a_folder_that_does_not_exist_is_refused_before_the_fit(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="create it first"),
        mc.checkpoint(tmp_path / "none" / "state"),
    ):
        pass


def test_kernel_pca_goes_on_where_its_start_is_computed_again(tmp_path):
    rows = rng.standard_normal((2500, 3))
    model = mc.KernelPCA(8, kernel=mc.Gaussian(2.0), memory="1MB")
    expected = model.fit_transform(rows)
    listen, _ = after(3, "Lanczos products")
    with (
        pytest.raises(Interrupted),
        listening(listen),
        mc.checkpoint(tmp_path / "state", every=0),
    ):
        model.fit(rows)
    with mc.checkpoint(tmp_path / "state"):
        np.testing.assert_array_equal(model.fit_transform(rows), expected)


def test_states_are_written_at_most_so_often(tmp_path):
    with warnings.catch_warnings(), mc.checkpoint(tmp_path / "state", every=1e6):
        warnings.simplefilter("error")
        listen, _ = after(3, "conjugate gradients")
        with pytest.raises(Interrupted), listening(listen):
            SOLVES["cg.solve"][1]()
    assert not (tmp_path / "state").exists()
