"""Models in 8 and 16 bits: the compiled code gives the scores that Python predicts for it, on any input."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.formats.test_c import COMPILER, Compiled, needs_compiler
from tests.reference.exported import X, Y, expected_values, fitted, with_each, with_probabilities

import mercer as mc
from mercer.formats import to_c
from mercer.formats.portable import portable, products
from mercer.formats.quantised import Bytes, Halves, quantise, uncoded

KINDS = {"float16": Halves, "int8": Bytes}
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-O2"]


@needs_compiler
@pytest.mark.parametrize(("case", "dtype"), with_each(*KINDS))
def test_the_compiled_scores_are_those_that_python_predicts(
    case, dtype, tmp_path, global_random_seed
):
    model = fitted(case)
    exported = portable(model, "float32")
    expected = uncoded(exported, "float64").scores(X)
    predicted = quantise(exported, KINDS[dtype], X, expected)
    compiled = Compiled(model, dtype, tmp_path, X=X)
    points = expected_values(model, "float32", global_random_seed, n=2000).points
    scores = predicted.scores(points)
    found = compiled.scores(points, scores.shape[1])
    # sums in float, relative to the terms that they add
    largest = abs(predicted.kernel(points)).max()
    size = products(
        np.full((1, len(predicted.coef)), largest), abs(predicted.coef), exported.counts
    ) + abs(exported.intercept)
    # a kernel value between two codes may have either
    code = predicted.coef_scale * largest * (dtype == "int8")
    assert np.all(abs(found - scores) <= 2e-5 * size + code)
    if exported.labels is not None:
        gaps = (
            np.sort(abs(scores), axis=1)[:, 0]
            if exported.answer != "largest"
            else np.ptp(np.sort(scores)[:, -2:], axis=1)
        )
        clear = gaps > 4e-5 * size.max()
        np.testing.assert_array_equal(
            compiled.places(points)[clear], exported.places(scores)[clear]
        )


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
    checks = [
        "-fsanitize=undefined,address,float-cast-overflow",
        "-fno-sanitize-recover=all",
        "-static-libasan",
    ]
    program = [tmp_path / "run", tmp_path / "main.c", tmp_path / "model.c", "-lm"]
    built = subprocess.run(
        [COMPILER, *FLAGS[:1], *checks, "-o", *program], capture_output=True, timeout=60
    )
    if built.returncode:
        pytest.skip("the compiler has no sanitizers")
    subprocess.run(
        [tmp_path / "run"], check=True, timeout=60, env={"ASAN_OPTIONS": "detect_leaks=0"}
    )


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", *KINDS])
@pytest.mark.parametrize(
    "case", ["mapped", "three classes by name", "powers, exponential and normalised", "KernelPCA"]
)
def test_the_source_compiles_without_warnings(case, dtype, tmp_path):
    to_c(fitted(case), tmp_path / "model.c", dtype, X=X)
    subprocess.run(
        [COMPILER, *FLAGS, "-c", "-o", tmp_path / "m.o", tmp_path / "model.c"],
        check=True,
        timeout=60,
    )


@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "avr-gcc"])
@pytest.mark.parametrize("dtype", KINDS)
def test_compilers_of_microcontrollers_take_it(compiler, dtype, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(
            f"{compiler} is not on the PATH; the package gcc-{compiler.removesuffix('-gcc')} of Debian has it"
        )
    to_c(mc.compress(fitted("Gaussian"), X, Y, n_vectors=20), tmp_path / "model.c", dtype, X=X)
    target = (
        ["-mmcu=atmega328p", "-std=gnu99"]
        if compiler.startswith("avr")
        else ["-mcpu=cortex-m0", "-std=c99"]
    )
    command = [
        compiler,
        *target,
        "-Os",
        "-Wall",
        "-Werror",
        "-c",
        "-o",
        tmp_path / "m.o",
        tmp_path / "model.c",
    ]
    subprocess.run(command, check=True, timeout=60)


@pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("clang")), reason="gcc or clang is not on the PATH"
)
@pytest.mark.parametrize("dtype", ["float64", "float32", *KINDS])
@pytest.mark.parametrize(
    "case", ["Gaussian", pytest.param("powers, exponential and normalised", marks=pytest.mark.slow)]
)
def test_gcc_and_clang_give_the_same_bits(case, dtype, tmp_path):
    model, found = fitted(case), []
    to_c(model, tmp_path / "model.c", dtype, X=X)
    points = expected_values(model, "float64", 0, n=500).points
    for compiler in ("gcc", "clang"):
        command = [
            compiler,
            *FLAGS,
            "-ffp-contract=off",
            "-shared",
            "-fPIC",
            "-o",
            tmp_path / f"{compiler}.so",
        ]
        subprocess.run([*command, tmp_path / "model.c", "-lm"], check=True, timeout=60)
        library = Compiled.of(tmp_path / f"{compiler}.so", dtype)
        found.append(library.scores(points, 3))
    assert np.ptp(found[0], axis=0).min() > 0
    np.testing.assert_array_equal(*found)


# --- on microcontrollers ---------------------------------------------------------------------------------------------

# A program that prints the label of each of the points, and the cycles that each takes.
MAIN = """
#include <stdint.h>
#include <stdio.h>
int model_predict(const float *x);
%(head)s
int main(void)
{
    static float x[64];
    int i, j, label;
    %(before)s
    for (i = 0; i < %(n)d; i++) {
        for (j = 0; j < 64; j++)
            x[j] = (float)rows[64 * i + j];
        %(start)s
        label = model_predict(x);
        %(stop)s
    }
    %(after)s
    return 0;
}
"""
AVR = {
    "head": """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
static volatile uint16_t high;
ISR(TIMER1_OVF_vect) { high++; }
static int put(char c, FILE *f) { (void)f; while (!(UCSR0A & (1 << UDRE0))); UDR0 = (uint8_t)c; return 0; }
static FILE out = FDEV_SETUP_STREAM(put, NULL, _FDEV_SETUP_WRITE);
static const __flash uint8_t""",
    "before": "UCSR0B = 1 << TXEN0; UBRR0 = 0; stdout = &out; TIMSK1 = 1 << TOIE1; TCCR1A = 0; sei();",
    "start": "high = 0; TCNT1 = 0; TCCR1B = 1;",
    "stop": """{
            const uint16_t low = TCNT1;
            TCCR1B = 0;
            printf("%d %lu\\n", label, ((unsigned long)high << 16) + low);
        }""",
    "after": "cli(); sleep_enable(); sleep_cpu();",
}
ARM = {
    "head": """
extern void _start(void);
static void reset(void) { _start(); }
__attribute__((section(".vectors"), used)) static void (*const vectors[2])(void) = {(void (*)(void))0x300000, reset};
static const uint8_t""",
    "before": "",
    "start": "",
    "stop": 'printf("%d 0\\n", label);',
    "after": "",
}


class Digits:
    """The digits of scikit-learn: one half for the fit of a model with few vectors in 8 bits, one half for its test."""

    def __init__(self, n_vectors, folder):
        X, y = load_digits(return_X_y=True)
        train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
        model = mc.SVC(C=10.0, multi_class="ovr").fit(X[train], y[train])
        self.small = mc.compress(model, X[train], y[train], n_vectors=n_vectors, random_state=0)
        self.train, self.test, self.labels, self.folder = X[train], X[test], y[test], folder
        self.exported = to_c(self.small, folder / "model.c", "int8", X=self.train)

    def places(self):
        """Return the labels of the test rows as Python predicts them for the file."""
        targets = self.small.decision_function(self.train)
        coded = quantise(portable(self.small, "float32"), Bytes, self.train, targets)
        return coded.scores(self.test).argmax(axis=1)

    def run(self, parts, compile_, emulate, n=60):
        """Return the labels of the first test rows and the cycles that each takes, and the program."""
        rows = ", ".join(map(str, self.test[:n].astype(int).ravel()))
        head = f"{parts['head']} rows[] = {{{rows}}};"
        main, program = self.folder / "main.c", self.folder / "program.elf"
        main.write_text(MAIN % (parts | {"n": n, "head": head}))
        subprocess.run(
            [*compile_, "-o", program, main, self.folder / "model.c", "-lm"],
            check=True,
            timeout=100,
        )
        done = subprocess.run([*emulate, program], capture_output=True, text=True, timeout=100)
        found = re.findall(
            r"(\d+) (\d+)\.*\s*$",
            re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr),
            re.MULTILINE,
        )
        return *np.array(found, int).T, program


def needs(*programs):
    missing = [each for each in programs if shutil.which(each) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not on the PATH: {', '.join(missing)}")


@pytest.mark.slow
@needs("avr-gcc", "simavr")
def test_digits_on_an_8_bit_processor_take_16_kilobytes_and_160_000_cycles(tmp_path):
    digits = Digits(17, tmp_path)
    compile_ = ["avr-gcc", "-mmcu=atmega328p", "-std=gnu99", "-O2", "-DF_CPU=16000000UL"]
    labels, cycles, program = digits.run(
        AVR, compile_, ["simavr", "-m", "atmega328p", "-f", "16000000"]
    )
    size = subprocess.run(
        ["avr-size", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    text, data = map(int, size.splitlines()[1].split()[:2])
    expected = digits.places()
    assert np.mean(expected == digits.labels) >= 0.97
    np.testing.assert_array_equal(labels, expected[:60])
    # the program holds the 60 rows and printf as well
    assert digits.exported.flash < text + data - labels.size * 64 < 16_384
    assert 50_000 < cycles.max() <= 160_000


@pytest.mark.slow
@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_digits_on_a_cortex_m_have_the_labels_of_python(tmp_path):
    digits = Digits(17, tmp_path)
    compile_ = [
        "arm-none-eabi-gcc",
        "-mcpu=cortex-m3",
        "-mthumb",
        "-std=c99",
        "-O2",
        "--specs=rdimon.specs",
    ]
    emulate = [
        "qemu-system-arm",
        "-M",
        "mps2-an385",
        "-nographic",
        "-monitor",
        "none",
        "-serial",
        "none",
    ]
    emulate += ["-semihosting-config", "enable=on,target=native", "-kernel"]
    labels, _, _ = digits.run(ARM, [*compile_, "-Wl,--section-start=.vectors=0"], emulate)
    np.testing.assert_array_equal(labels, digits.places()[:60])


def test_digits_in_8_bits_keep_97_percent_in_16_kilobytes(tmp_path):
    digits = Digits(50, tmp_path)
    assert digits.exported.flash < 6000
    assert digits.exported.label_agreement > 0.995
    assert np.mean(digits.places() == digits.labels) >= 0.97


@needs_compiler
@pytest.mark.parametrize("dtype", ["float16", "int8"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_vectors_in_few_bits_give_the_probabilities_of_their_scores(
    n_classes, dtype, tmp_path, global_random_seed
):
    expected = with_probabilities("sigmoid", n_classes, global_random_seed)
    compiled = Compiled(expected.model, dtype, tmp_path, X=expected.points)
    found = compiled.scores(expected.points, n_classes, "probabilities")
    # a vote turns where the score of a pair is near 0
    assert np.quantile(abs(found - expected.values), 0.9) < 0.01
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
