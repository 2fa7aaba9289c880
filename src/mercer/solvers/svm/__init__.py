"""Solvers of support vector machines: `solve_dual` takes kernel rows and a dual, and returns arrays and a certificate.

================== ====================================================================================
dual               the problem that every machine becomes, and its solution: one, or several in joined arrays
options            tolerance, number of steps, memory, callback
solve              the entrance: which solver duals need, and whether all kernel values are held
engine             rounds of SMO steps in compiled code; whole small duals in one call
smo                the compiled step: working set, move, update of the slopes
on_demand          kernel rows in compiled code, where a step needs them
certificates       bias, violation, gap and certificate in float64; the point that a solver moves
newton             last digits: Newton steps on the free variables
bounded            duals between finite bounds: small ones together; of large ones what steps solve slowly
sweep              some variables of a large problem, and the kernel rows that memory holds
rows               kernel rows of any kernel, and those of compiled code; the choice of float32
nu                 two sums or infinite bounds: nu-classification, nu-regression, hard margins
linear             the linear kernel and kernel matrices of low rank without kernel rows
path               many C
cross_validation   folds, kernels and cells
pairs              several binary classifiers: layout of coefficients, votes
================== ====================================================================================
"""

from mercer.solvers.svm.certificates import certificate
from mercer.solvers.svm.dual import Dual, Infeasible, Options, Solution
from mercer.solvers.svm.rows import rows_of
from mercer.solvers.svm.solve import solve_dual

__all__ = [
    "Dual",
    "Infeasible",
    "Options",
    "Solution",
    "certificate",
    "rows_of",
    "solve_dual",
]
