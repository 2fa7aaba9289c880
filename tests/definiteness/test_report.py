"""The report reads well as text and as HTML, and hides nothing."""

from dataclasses import dataclass
from html.parser import HTMLParser
from math import factorial

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import mercer as mc
from mercer.definiteness import Statement


class Words(HTMLParser):
    def __init__(self):
        super().__init__()
        self.words, self.open = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


X = np.random.default_rng(0).normal(size=(12, 2))
REPORTS = [
    mc.check_kernel(mc.Gaussian(1.0), X),
    mc.check_kernel(mc.Sigmoid(1.0, -1.0), X),
    mc.check_kernel(mc.Exp(mc.Sigmoid(1.0)) + mc.Linear()),
    mc.check_kernel(lambda A, B: (A[:, :1] < B[:, 0]) * 1.0, X),
]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.verdict)
def test_text_and_html_hold_every_statement_and_the_verdict(report):
    parser = Words()
    parser.feed(report._repr_html_())
    assert parser.open == []
    page = "".join(parser.words)
    for text in (report.verdict, *(statement.reason for statement in report.statements)):
        assert text in str(report)
        assert text in page


def test_verdicts_are_sentences_that_differ():
    assert [report.verdict for report in REPORTS] == [
        "positive semidefinite",
        "not positive semidefinite on these 12 points",
        "open: no proof is known",
        "not a kernel: it is not symmetric",
    ]


def test_names_from_users_are_escaped_in_html():
    def kernel(A, B):
        return A @ B.T

    kernel.__qualname__ = "<script>"
    assert "<script>" not in mc.check_kernel(kernel, X)._repr_html_()


def test_long_witnesses_and_matrices_are_cut():
    K = np.eye(40) - 0.03
    report = mc.check_kernel(mc.Precomputed(), K)
    assert len(report.witness.points) > 4
    assert "more terms" in str(report)
    assert max(map(len, str(report).splitlines())) < 240


@pytest.mark.parametrize("d", [2, 20])
def test_points_of_a_witness_are_shown_whole_up_to_60_characters(d):
    report = mc.check_kernel(mc.Sigmoid(1.0, -1.0), np.random.default_rng(0).normal(size=(12, d)))
    text = f"({', '.join(f'{value:.4g}' for value in report.witness.points[0])})"
    assert f"phi({text if d == 2 else text[:57] + '...'})" in str(report)


def test_a_statement_marks_its_verdict_and_its_depth():
    assert (
        str(Statement("refuted", "here", "it is so", depth=1)) == "  - refuted for here: it is so"
    )


@dataclass(frozen=True, eq=False)
class Cosine(mc.Radial):
    """cos |x - z|: on the line an inner product of (cos, sin), on rows of two columns not positive semidefinite."""

    @staticmethod
    def profile(xp, s, order=0):
        return Polynomial([(-1) ** k / factorial(2 * k) for k in range(30)]).deriv(order)(s)


def test_an_open_verdict_says_where_the_kernel_is_refuted_and_where_it_is_open():
    line = np.linspace(0, 3, 40)[:, None]
    report = mc.check_kernel(Cosine(), line)
    assert report.positive_semidefinite is None
    assert abs(report.smallest_eigenvalue) < 1e-12
    assert report.verdict == (
        "refuted for rows with enough columns; otherwise open: no proof is known, and no negative eigenvalue on these "
        "40 points"
    )
    plane = np.stack(np.meshgrid(*[np.linspace(0, 2, 12)] * 2), axis=-1).reshape(-1, 2)
    assert (
        mc.check_kernel(Cosine(), plane).verdict == "not positive semidefinite on these 144 points"
    )


def test_a_refuted_part_is_not_a_refuted_kernel():
    assert mc.check_kernel(mc.Exp(mc.Sigmoid(1.0))).verdict == "open: no proof is known"
