"""Tests whether a function of two points is a positive semidefinite kernel: proofs, refutations and evidence."""

from mercer._elsewhere import explain_names
from mercer.definiteness._check_kernel import check_kernel
from mercer.definiteness._make_positive import Repaired, make_positive
from mercer.definiteness.report import KernelReport, Statement

__all__ = ["KernelReport", "Repaired", "Statement", "check_kernel", "make_positive"]
explain_names(__name__)
