"""Models in 8 and 16 bits: the compiled code gives the scores that Python predicts for it, on any input."""

import shutil
import subprocess

import numpy as np
import pytest
from tests.formats.test_c import COMPILER, Compiled, needs_compiler
from tests.reference.exported import X, Y, expected_values, fitted, with_each

import mercer as mc
from mercer.formats import to_c
from mercer.formats.portable import portable
from mercer.formats.quantised import Bytes, Halves, places, quantise, uncoded

KINDS = {"float16": Halves, "int8": Bytes}
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-O2"]


@needs_compiler
@pytest.mark.parametrize(("case", "dtype"), with_each(*KINDS))
def test_the_compiled_scores_are_those_that_python_predicts(case, dtype, tmp_path, global_random_seed):
    model = fitted(case)
    exported = portable(model, "float32")
    expected = uncoded(exported, "float64").scores(X)
    predicted = quantise(exported, KINDS[dtype], X, expected)
    compiled = Compiled(model, dtype, tmp_path, X=X)
    points = expected_values(model, "float32", global_random_seed, n=2000).points
    scores = predicted.scores(points)
    found = compiled.scores(points, scores.shape[1])
    # sums in float, relative to the terms that they add
    size = abs(predicted.coef).sum(axis=0) * abs(predicted.kernel(points)).max() + abs(exported.intercept)
    assert np.all(abs(found - scores) <= 2e-5 * size)
    if exported.labels is not None:
        gaps = (
            np.sort(abs(scores), axis=1)[:, 0]
            if exported.answer != "largest"
            else np.ptp(np.sort(scores)[:, -2:], axis=1)
        )
        clear = gaps > 4e-5 * size.max()
        np.testing.assert_array_equal(compiled.places(points)[clear], places(exported.answer, scores)[clear])


@needs_compiler
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("case", ["Gaussian", "mapped", "one against the rest", "Polynomial"])
def test_the_error_that_is_stated_is_that_of_the_compiled_code(case, dtype, tmp_path):
    model = fitted(case)
    stated = to_c(model, tmp_path / "stated.c", dtype, X=X)
    own = mc.as_expansion(model) if not isinstance(model, mc.formats.FittedExpansion) else model
    exact = own.expansion(X) + own.intercept
    found = Compiled(model, dtype, tmp_path, X=X).scores(X.astype(np.float32), exact.shape[1])
    error = abs(found - exact).max()
    assert error == pytest.approx(stated.max_error, rel=0.02, abs=3e-5 * abs(exact).max())
    assert 0 < error < 0.1 * abs(exact).max()


@needs_compiler
@pytest.mark.parametrize("dtype", KINDS)
def test_extreme_points_are_no_undefined_behaviour(dtype, tmp_path):
    to_c(fitted("Gaussian"), tmp_path / "model.c", dtype, X=X)
    main = """
#include <math.h>
void model_scores(const float *x, float *out);
int model_predict(const float *x);
int main(void)
{
    const float all[8][4] = {{0}, {NAN, 1, 1, 1}, {INFINITY, 0, 0, 0}, {-INFINITY, INFINITY, 0, 1},
        {3e38f, -3e38f, 3e38f, 1}, {1e-45f, 0, -1e-45f, 0}, {1e20f, 1, 1, 1}, {-1, 2, -3, 4}};
    float out[3];
    int i;
    for (i = 0; i < 8; i++) {
        model_scores(all[i], out);
        if (model_predict(all[i]) < 0 || model_predict(all[i]) > 2)
            return 1;
    }
    return 0;
}
"""
    (tmp_path / "main.c").write_text(main)
    checks = ["-fsanitize=undefined,address,float-cast-overflow", "-fno-sanitize-recover=all", "-static-libasan"]
    program = [tmp_path / "run", tmp_path / "main.c", tmp_path / "model.c", "-lm"]
    built = subprocess.run([COMPILER, *FLAGS[:1], *checks, "-o", *program], capture_output=True, timeout=60)
    if built.returncode:
        pytest.skip("the compiler has no sanitizers")
    subprocess.run([tmp_path / "run"], check=True, timeout=60, env={"ASAN_OPTIONS": "detect_leaks=0"})


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", *KINDS])
@pytest.mark.parametrize("case", ["mapped", "three classes by name", "powers, exponential and normalised", "KernelPCA"])
def test_the_source_compiles_without_warnings(case, dtype, tmp_path):
    to_c(fitted(case), tmp_path / "model.c", dtype, X=X)
    subprocess.run([COMPILER, *FLAGS, "-c", "-o", tmp_path / "m.o", tmp_path / "model.c"], check=True, timeout=60)


@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "avr-gcc"])
@pytest.mark.parametrize("dtype", KINDS)
def test_compilers_of_microcontrollers_take_it(compiler, dtype, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not on the PATH; the package gcc-{compiler.removesuffix('-gcc')} of Debian has it")
    to_c(mc.compress(fitted("Gaussian"), X, Y, n_vectors=20), tmp_path / "model.c", dtype, X=X)
    target = ["-mmcu=atmega328p", "-std=gnu99"] if compiler.startswith("avr") else ["-mcpu=cortex-m0", "-std=c99"]
    command = [compiler, *target, "-Os", "-Wall", "-Werror", "-c", "-o", tmp_path / "m.o", tmp_path / "model.c"]
    subprocess.run(command, check=True, timeout=60)


def test_digits_in_8_bits_keep_97_percent_in_16_kilobytes(tmp_path):
    from sklearn.datasets import load_digits

    digits, labels = load_digits(return_X_y=True)
    train, test = np.arange(len(digits)) % 2 == 0, np.arange(len(digits)) % 2 == 1
    model = mc.SVC(C=10.0, multi_class="ovr").fit(digits[train], labels[train])
    small = mc.compress(model, digits[train], labels[train], n_vectors=50, random_state=0)
    found = to_c(small, tmp_path / "digits.c", "int8", X=digits[train])
    coded = quantise(portable(small, "float32"), Bytes, digits[train], small.decision_function(digits[train]))
    assert found.flash < 6000
    assert found.label_agreement > 0.995
    assert np.mean(places("largest", coded.scores(digits[test])) == labels[test]) >= 0.97
