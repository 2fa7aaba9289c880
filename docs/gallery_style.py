"""The style of all figures of the gallery, and the order of its examples."""

from pathlib import Path

from cycler import cycler
from matplotlib import pyplot

# Okabe and Ito: eight colours that most colour-blind readers tell apart; yellow is too pale for lines
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000"]

# The main tasks come first, the others by name.
FIRST = [
    "svc_and_scikit_learn",
    "parameters",
    "compression",
    "compress_to_c",
    "compress_to_onnx",
    "constructed_vectors",
    "novelty",
    "regression_with_uncertainty",
    "denoising",
    "preimage_paths",
    "own_kernel",
    "length_scales",
    "mmd_test",
    "hsic_test",
    "kernelized",
    "kernel_k_means",
    "spectral_clustering",
    "landmarks",
]


def in_order(name):
    """Return the sort key of a file of the gallery."""
    topic = Path(name).stem.removeprefix("plot_")
    return (FIRST.index(topic) if topic in FIRST else len(FIRST)), topic


def apply(_gallery_conf, _name):
    """Set the style, after sphinx-gallery has reset it."""
    pyplot.rcdefaults()
    pyplot.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            # legible in a column of 400 pixels
            "font.size": 11,
            "legend.frameon": False,
            "image.cmap": "cividis",
            "figure.facecolor": "white",
        }
    )
