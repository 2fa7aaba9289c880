"""Linear algebra of symmetric operators: eigenpairs, Cholesky factors, conjugate gradients and preconditioners.

An operator is anything with ``shape``, ``dtype`` and ``@``: an array, a ``Gram``, or one of the operators here.
"""
