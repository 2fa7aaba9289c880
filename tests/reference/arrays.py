"""Arrays of other libraries in the main memory, for comparisons."""

import array_api_compat
import array_api_strict
import numpy as np


def as_numpy(values):
    """Return an array of any library, on any device, as an array of NumPy; arrays in dictionaries too."""
    if isinstance(values, dict):
        return {name: as_numpy(each) for name, each in values.items()}
    if array_api_compat.is_torch_array(values):
        return values.detach().cpu().numpy()
    if isinstance(values, np.ndarray) or not array_api_compat.is_array_api_obj(values):
        return values
    return np.asarray(array_api_compat.to_device(values, array_api_strict.Device("CPU_DEVICE")))
