"""Costs: the numbers of blocks, tasks and routes that were measured, in one place.

Each was chosen by measurements on two cores of a virtual machine with AVX-512, a second-level cache of 2 MB for each
core, OpenBLAS and glibc. With half or twice of COLUMNS, TILE, CORNER, BLOCK, DIRECT, WIDE or SINGLE,
kernel matrices and products of 6 to 700 columns take at most 6 % longer in geometric mean, and a single one at most a
quarter. An order or ratio that is wrong by a factor of two takes the slower of two solvers, at most three times as
long. No number changes a result beyond rounding.
"""

from math import inf
from typing import NamedTuple

# --- blocks of kernel values ------------------------------------------------------------------------------------------

# Columns of a tile of kernel values. Sums within a tile are in the type of the data, across tiles in float64. With
# twice as many, the tiles of a symmetric product exceed the cache, and it takes a fifth longer.
COLUMNS = 512
# Numbers of float32 in the widest vector registers, of which variables of a dual and images of a block are a multiple,
# so that no loop has a remainder.
LANES = 16
# Bytes of a tile, half of a second-level cache, and of other temporary arrays that are read again at once.
TILE = 1 << 20
# Bytes of the kernel values of a task whose second pass finds them in the shared cache.
TASK = 1 << 22
# Numbers of a temporary array: 16 MB in float64. From 32 MB on the C library asks the system for new pages each time,
# and writing to those takes as long as exp.
BLOCK = 1 << 21
# Rows and columns of a tile that is transposed: whole cache lines are read and written.
CORNER = 32
# Rows of a tall array that one call multiplies, or that are computed at a time.
ROWS = 1024

# --- choices between ways to compute one thing ------------------------------------------------------------------------

# Coordinates up to which differences take no longer than a matrix product; they are exact for close points too.
DIRECT = 8
# Coordinates from which on a copy of rows beside their norms takes longer than adding the norms to the products; and
# all rows of a dual are computed before the first step where most points are variables: products of blocks are so much
# faster than rows on demand.
WIDE = 512
# Share of all pairs that are close, from which on float64 products take less time than their differences.
CLOSE_PAIRS = 1 / 64
# Order of a matrix from which on Lanczos is faster than LAPACK for few eigenpairs; LAPACK takes seconds there.
DENSE_ORDER = 2_000
# Order of a stored matrix from which on ARPACK, run twice to miss no eigenvalue, is faster than LAPACK.
ARPACK_ORDER = 256
# Ratio of the order to the number of eigenpairs from which on it is.
ARPACK_PAIRS = 50
# Ratio of the order to the number of eigenpairs from which on Lanczos is faster from 3/4 of `DENSE_ORDER` on.
FEW_PAIRS = 64
# The same ratio from that order on.
MANY_PAIRS = 20
# Columns of a product of Lanczos at least: kernel values dominate its cost, so 16 columns cost little more than one.
LEAST_COLUMNS = 16
# Columns of a product of Lanczos at most.
MOST_COLUMNS = 48

# Order of a matrix up to which a fit factors it to prove that it is positive semidefinite: 10 ms.
PROVED = 600
# Operations of the factor of a larger matrix for each step and variable of a support vector solver at most: 15 % of its
# time, since a step takes 4 ns, as long as 80 operations, for each variable.
PROOF = 12

# --- threads ----------------------------------------------------------------------------------------------------------

# Kernel values, or numbers of a copy, of one task: fewer take less time than to start a second task; and of a tile of
# kernel rows, whose factors stay in cache too.
SINGLE = 1 << 16
# Operations of BLAS or LAPACK, about 0.1 s of one thread, from which on threads of BLAS save more than their waiting
# costs, and from which on a call is made where Ctrl-C can end the wait.
LONG = 4e9
# Tasks that add up sums of their own, whatever the number of threads: each takes memory, and 16 occupy 16 threads.
TASKS = 16
# Pivots of a block of a Cholesky factor; a task counts so many at least, which bounds its rows.
PIVOTS = 64

# --- devices ----------------------------------------------------------------------------------------------------------

# Columns of V from which on kernel values in memory and one product by PyTorch take less time.
DEVICE_COLUMNS = 64
# Programs that keep a device busy, whatever the number of its multiprocessors; twice as many take as long.
PROGRAMS = 8192
# Kernel values of a tile in the memory of a device: half a gigabyte in float64. With a tenth, most is overhead.
DEVICE_VALUES = 1 << 26
# Order of a matrix from which on eigenproblems take less time on a device, copies included; not measured.
DEVICE_ORDER = 1000
# Features up to which differences on the arithmetic units take less time than products on tensor cores.
FEW_FEATURES = 3


class DeviceTile(NamedTuple):
    """Sizes of a program of a product on a device, and how it is compiled.

    Rows, columns and features of a tile; tiles of columns whose sums are float32; columns of V; warps, stages of loads;
    and whether threads keep the sums of their rows, without tensor cores. A size that is wrong by a factor of two costs
    a third, or does not fit into registers or shared memory: products then take tiles in the memory of the device.
    """

    rows: int
    columns: int
    features: int
    flush: int
    width: int
    warps: int
    stages: int
    few: bool = False

    @property
    def chunk(self):
        """The columns whose sums are float32."""
        return self.columns * self.flush


# The most features and columns of V, and the tile, in the order in which they are tried. Measured on an H100: features
# up to 3 with a column, up to 64, and above; a thread for some rows (up to 16 columns) follows a kernel of KeOps'
# scheme, which was measured; chunks are of sizes near those that were.
_HOPPER = (
    (3, 1, DeviceTile(64, 32, 16, 32, 1, 4, 1, few=True)),
    (3, 16, DeviceTile(256, 8, 16, 16, 16, 2, 1, few=True)),
    (64, 1, DeviceTile(128, 64, 64, 8, 1, 4, 2)),
    (64, 64, DeviceTile(128, 64, 64, 8, 32, 8, 3)),
    (inf, 1, DeviceTile(128, 256, 32, 1, 1, 8, 4)),
    (inf, 64, DeviceTile(128, 128, 64, 2, 32, 8, 3)),
)
# Less shared memory; not measured.
_AMPERE = (
    *_HOPPER[:3],
    (64, 64, DeviceTile(128, 64, 64, 8, 32, 8, 2)),
    (inf, 64, DeviceTile(128, 128, 32, 2, 32, 8, 2)),
)
# Of float64, whose values take two registers.
_DOUBLE = (*_HOPPER[:2], (inf, 64, DeviceTile(64, 64, 16, 8, 32, 8, 2)))


def device_tile(d, p, double, capability):
    """Return the tile of a product for d features and p columns of V on a device of a compute capability."""
    table = _DOUBLE if double else _HOPPER if capability >= 9 else _AMPERE
    return next(tile for most, columns, tile in table if d <= most and p <= columns)


# --- support vector machines ------------------------------------------------------------------------------------------

# Variables of a dual up to which rows on demand in one compiled call, on one thread, take less time than sweeps.
SMALL_DUAL = 8192
# Variables up to which all rows are computed before the first step: their steps take 1.1 to 2.5 times less time with 16
# to 160, from 2 to 120 coordinates, and with 200 up to 7 % more where few are support vectors. Whole lanes.
AT_ONCE = 160
# Variables of a sweep at most.
LARGEST_SWEEP = 16_384
# Variables of a sweep over a part at least.
LEAST_SWEEP = 4096
# Rows that a sweep computes together.
SWEEP_ROWS = 256
# Variables of a cell that is solved before the whole, which saves time where three or more are.
CELL = 2000
# Variables of several duals that are solved for, placed or judged at a time: their arrays are a small part of all.
TOGETHER_VARIABLES = 1 << 16
# Work of a compiled call between two checks for interrupts, in steps times variables or entries: 0.1 to 0.3 s.
STEP_WORK = 200_000_000
# Kernel values of which the largest is compared at once with the one that a step looks for.
SEARCHED = 64
# Entries of the gradient that stay in the processor's cache while rows pass.
PIECE = 1024
# Points of a tile of rows on demand, in whole lanes.
ROW_TILE = 256
# Its coordinates at most: several rows are computed while it stays in the processor's cache.
ROW_TILE_COORDINATES = 1 << 18
# Coordinates of such a tile that stay in the fastest cache while rows pass.
DEPTH = 16
# Rows computed together where products of coordinates take most of the time.
TOGETHER = 8
# They do from so many coordinates on.
WIDE_ROWS = 64
# Overhead of a step over a pair, in variables.
STEP_OVERHEAD = 1000
# Coordinates of points of which a kernel row takes as long as a step.
COORDINATES_OF_STEP = 32
# Operations of Newton steps between two checks for interrupts: several steps of the most variables, without which none
# counts as in vain.
NEWTON_WORK = 5e8
# So many times such steps go on at most.
NEWTON_PAUSES = 20
# Free variables that Newton steps solve for at most, and unknowns of a step on the normal of a linear kernel that a
# factor solves for, where that takes no longer than products with the rows.
NEWTON_VARIABLES = 2000
# Operations of a refinement as a share of those spent before, which are three times as fast: a fifth of the time.
REFINEMENT = 0.07
# Time of a kernel value beside its inner product, in multiplications of a product with a single row.
KERNEL_VALUE = 20
# Time of a copied one, in the same unit.
COPIED_VALUE = 32
# Time of a copied one where all exceed the shared cache.
FAR_VALUE = 72
# Time of a known one in float64.
KNOWN_VALUE = 256
# Bytes of the cache that the cores of a processor share.
SHARED_CACHE = 1 << 25
# Products of blocks are so many times as fast as products with single rows.
BLOCKED = 3
# Points up to which kernel rows are float64: float32 saves too little time to measure its rounding.
FLOAT64_POINTS = 256
# Variables of the largest of several duals up to which rows of more points are float64 too: certificates of float32
# rows are computed a second time, which takes longer where classes are many.
FLOAT64_VARIABLES = 64
# Entries of sparse rows up to which dense rows take less time.
DENSE_ENTRIES = 1 << 18
# Rows of a task: of a product, where half as many take up to a tenth longer; sparse ones, those whose squared distances
# are kept, and those of sums over coordinates.
ROWS_OF_TASK = 128
# Operations of a task below which one thread is as fast as a pool.
THREADED = 1 << 22
# Operations of all Newton steps on the normal of a linear kernel.
LINEAR_NEWTON = 8e7
# Operations of these for each entry of the rows.
LINEAR_NEWTON_PER_ENTRY = 900
# Unknowns of such a step up to which it is solved by a factor.
FACTORED_UNKNOWNS = 1000
# Operations that an entry of the rows counts as in these products, since memory delivers it.
ENTRY = 10
