"""Solvers of the quadratic programmes of kernel machines: arrays in, arrays and a certificate out."""
