"""Solvers of kernel methods: arrays and operators in, arrays and a certificate out."""
