"""Warnings that point to the line of the user, however deep in the package they arise."""

import sys
import warnings


def warn(message, category=UserWarning):
    """Warn with the line outside this package that led here, however deep the caller is.

    Parameters
    ----------
    message : str
    category : type

    Examples
    --------
    >>> import warnings
    >>> from mercer._warn import warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("look out")
    >>> str(caught[0].message), caught[0].category
    ('look out', <class 'UserWarning'>)
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mercer."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
