"""Pre-images among objects: descents end where no neighbour is nearer, and features of objects come back."""

import numpy as np
import pytest

import mercer as mc
from mercer.preimages.search import edits

WORDS = [
    "".join(word)
    for size in (3, 4, 5)
    for word in np.random.default_rng(size).choice(list("abc"), (8, size))
]
STRINGS = mc.strings.BlendedSpectrum(2)


def _shared(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


SETS = [set(word) for word in WORDS]
KINDS = {
    "str": (STRINGS, WORDS),
    "bytes": (STRINGS, [word.encode() for word in WORDS]),
    "tuple": (STRINGS, list(map(tuple, WORDS))),
    "list": (mc.FunctionKernel(_shared), list(map(list, WORDS))),
    "set": (mc.FunctionKernel(_shared), SETS),
    "frozenset": (mc.FunctionKernel(_shared), list(map(frozenset, SETS))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_edit_of_a_pre_image_is_nearer_and_the_start_is_not(kind):
    kernel, points = KINDS[kind]
    phi = mc.features(kernel, points)
    psi = mc.mean(phi) * 1.5
    found = mc.preimage(psi)
    [z] = found.points
    assert type(z).__name__ == kind
    assert found.converged.all()
    distance = mc.sqdist(psi, mc.features(kernel, [z]))[0, 0]
    assert found.sqdist == pytest.approx(distance, abs=1e-12)
    assert distance <= mc.sqdist(psi, phi).min() + 1e-12
    tokens = sorted({token for point in points for token in point})
    assert mc.sqdist(psi, mc.features(kernel, edits(z, tokens))).min() >= distance - 1e-12


def test_the_feature_of_an_object_is_found_from_afar():
    phi = mc.features(STRINGS, WORDS)
    found = mc.preimage(phi[:, :6], start=["a", "b", "c"] * 2)
    better = mc.sqdist(phi[:, :6], mc.features(STRINGS, ["a", "b", "c"] * 2), paired=True)
    assert (found.sqdist < better).all()
    np.testing.assert_allclose(mc.preimage(phi).sqdist, 0, atol=1e-12)
    assert mc.preimage(phi).points == WORDS


def test_without_neighbours_the_nearest_object_is_returned():
    phi = mc.features(STRINGS, WORDS)
    psi = mc.mean(phi)
    best = int(mc.sqdist(psi, phi).argmin())
    for method in (mc.Search(neighbours=lambda _: []),):
        found = mc.preimage(psi, method)
        assert found.points == [WORDS[best]]
        assert found.n_iter.tolist() == [0]
    numbers = mc.features(mc.FunctionKernel(lambda A, B: np.outer(A, B)), [1.0, 2.0, 4.0])
    assert mc.preimage(mc.mean(numbers)).points == [2.0]


def test_strings_of_one_length_keep_it():
    words = ["abc", "bca", "cba", "aab"]
    kernel = mc.strings.WeightedDegree(2)
    found = mc.preimage(mc.mean(mc.features(kernel, words)))
    assert len(found.points[0]) == 3


def test_a_search_that_is_cut_short_says_so():
    psi = 4 * mc.mean(mc.features(STRINGS, WORDS))
    found = mc.preimage(psi, mc.Search(max_iter=1), start=["a"])
    assert not found.converged.any()
    assert "max_iter = 1 steps were made" in found.reason


def test_kernel_pca_of_strings_denoises_and_inverts():
    kpca = mc.KernelPCA(3, kernel=mc.Normalized(STRINGS)).fit(WORDS)
    denoised = kpca.denoise(WORDS[:4])
    vectors = kpca.coordinates_.vectors(kpca.transform(WORDS[:4]))
    before, after = (mc.features(kpca.kernel_, points) for points in (WORDS[:4], denoised))
    assert (
        mc.sqdist(vectors, after, paired=True) <= mc.sqdist(vectors, before, paired=True) + 1e-9
    ).all()
    assert len(kpca.inverse_transform(kpca.transform(WORDS[:2]))) == 2


def test_a_start_of_another_kind_is_named():
    psi = mc.mean(mc.features(mc.strings.Spectrum(1), WORDS))
    with pytest.raises(TypeError, match=r"start\[0\] must be a string.*3 of type int"):
        mc.preimage(psi, start=[3])
    with pytest.raises(ValueError, match=r"X\[0\] is of type bytes, but Z\[0\] is of type str"):
        mc.preimage(psi, start=[b"ab"])


@pytest.mark.parametrize(
    ("make", "error"),
    [(lambda: mc.Search(neighbours=3), TypeError), (lambda: mc.Search(max_iter=0), ValueError)],
    ids=range(2),
)
def test_wrong_options_are_refused(make, error):
    with pytest.raises(error):
        make()
