"""``python -m mercer.sklearn script.py``: run a script of scikit-learn, with its arguments, with Mercer's fits."""

import os
import runpy
import sys

from mercer.sklearn.switch import patch_sklearn

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m mercer.sklearn script.py [arguments of the script]")
    del sys.argv[0]
    # as Python does for a script
    sys.path[0] = os.path.dirname(sys.argv[0])
    patch_sklearn()
    runpy.run_path(sys.argv[0], run_name="__main__")
