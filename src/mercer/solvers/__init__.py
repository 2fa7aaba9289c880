"""Solvers of kernel machines: arrays and operators in, arrays and a certificate out."""
