"""Fits of few free vectors to outputs or labels on rows: arrays in, points, coefficients and intercepts out."""
