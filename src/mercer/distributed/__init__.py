"""Rows that are not in memory: blocks of an array on disk or of a Dask array, and sums and values over them."""

from mercer.distributed.blocks import InMemory, as_blocks, as_matrix, in_memory, named_columns

__all__ = ["InMemory", "as_blocks", "as_matrix", "in_memory", "named_columns"]
