"""Linear algebra of symmetric operators: eigenpairs, Cholesky factors, conjugate gradients."""
