"""The rule for squared distances, and compiled loops that apply it to rows and to transposed points.

|x|^2 + |z|^2 - 2 <x, z>, for rows minus a centre, loses digits where it is small beside the norms. Below a share of
|x|^2 + |z|^2 the distance is computed again as the sum of (x_k - z_k)^2. `Tile` and the Triton kernel have this rule
for the arrays of other libraries.
"""

from mercer._compute.compile import compiled

# The share of |x|^2 + |z|^2 below which a squared distance is computed from differences, by the bits of its type. A
# distance of this size has rounding errors of about 1e-4 of itself in float32 and 1e-10 in float64.
CLOSE_SHARES = {32: 1e-3, 64: 1e-6}


@compiled
def recompute_row(x, Z, norm, norms, share, scale, out):
    """Replace squared distances of a point x to rows Z below ``share`` of their norms by ``scale`` |x - z|^2.

    ``norm`` and ``norms`` are |x|^2 and |z|^2 of rows minus a centre. Of a tile (d, m) of transposed points give
    ``tile.T``. ``scale`` undoes a factor of the coordinates: 0.25 for -2 x; its type is that of ``out``.
    """
    close = 0
    for j in range(out.size):
        close += out[j] < share * (norm + norms[j])
    if close == 0:
        return
    for j in range(out.size):
        if out[j] < share * (norm + norms[j]):
            total = out[j] - out[j]
            for k in range(x.size):
                difference = x[k] - Z[j, k]
                total += difference * difference
            out[j] = scale * total
            close -= 1
            if close == 0:
                return


@compiled
def recompute_close(X, Z, norms, right_norms, block, start, share):
    """Apply `recompute_row` to all rows X, whose squared distances to Z are columns of ``block`` from ``start`` on."""
    for i in range(X.shape[0]):
        row = block[i, start : start + Z.shape[0]]
        recompute_row(X[i], Z, norms[i], right_norms, share, norms.dtype.type(1), row)
