"""Solvers of support vector machines: `solve_dual` takes kernel rows and a dual, and returns arrays and a certificate.

==================== ==================================================================================
dual, bias           the problem, its solution and certificate; slopes, bias and violation
workspace            memory, accuracy of kernel rows, number of steps, callback
_solve_dual          the entrance: which solver a dual needs
several              duals and solutions in joined arrays
pairs                several binary classifiers: layout of coefficients, votes
one_vs_one           their training on several threads
one_constraint       one sum kept: rounds of SMO and Newton steps
linear               the linear kernel without kernel rows
low_rank             kernel matrices with few eigenvalues above rounding, by the same steps
whole                up to 8 192 variables: everything below in compiled code, for several duals at a time
on_demand, rounds    its kernel rows, its rounds of SMO
exact                its refinement, with the Newton steps of compiled_active_set
smo                  the compiled SMO step: working set, move, update of the gradient
decomposition, sweep larger problems: SMO with a bounded row cache over part of the variables
shrinking            steps over the variables near the margin
newton, active_set   last digits: Newton steps on free variables
divide_and_conquer   starts of large problems
cells                cross-validation on points that lie together
two_constraints      two sums kept
max_margin           hard margin and nu-classification
nu_svr, hard_tube    nu-regression, regression without error
path                 many C
rows, row_cache      kernel values; known_rows, those that are known; ridged, a kernel with a ridge
==================== ==================================================================================
"""

from mercer.solvers.svm._solve_dual import solve_dual

__all__ = ["solve_dual"]
