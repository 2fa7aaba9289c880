"""Is it a kernel? What is proved of a function of two points, what is refuted, and what is only not refuted."""

from mercer.definiteness._check_kernel import check_kernel
from mercer.definiteness.report import KernelReport, Statement

__all__ = ["KernelReport", "Statement", "check_kernel"]
