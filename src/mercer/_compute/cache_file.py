"""Files of machine code with a checksum: LLVM ends the process if it reads damaged code."""

import functools
import hashlib
import pickle

from mercer._compute.notice import watch_compilations

_DIGEST = hashlib.sha256().digest_size


@functools.cache
def checked_file():
    """Return Numba's class of the files of one function, with a checksum of each file; Numba is imported then."""
    from numba.core.caching import IndexDataCacheFile

    # before the first compilation
    watch_compilations()

    class CheckedFile(IndexDataCacheFile):
        """Files of the machine code of one function, each of which starts with the checksum of its content."""

        def __init__(self, cache_path, filename_base, source_stamp):
            # files without a checksum have another name
            super().__init__(cache_path, f"{filename_base}.sha256", source_stamp)

        def save(self, key, data):
            super().save(key, (key, data))

        def load(self, key):
            known, data = super().load(key) or (None, None)
            # two processes may write different code to one file
            return data if known == key else None

        def _save_index(self, overloads):
            self._write(self._index_path, (self._version, self._source_stamp, overloads))

        def _load_index(self):
            try:
                version, stamp, overloads = self._read(self._index_path)
            except FileNotFoundError:
                return {}
            return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

        def _save_data(self, name, data):
            self._write(self._data_path(name), data)

        def _load_data(self, name):
            return self._read(self._data_path(name))

        def _write(self, path, thing):
            content = self._dump(thing)
            with self._open_for_write(path) as file:
                file.write(hashlib.sha256(content).digest() + content)

        @staticmethod
        def _read(path):
            with open(path, "rb") as file:
                digest, content = file.read(_DIGEST), file.read()
            if hashlib.sha256(content).digest() != digest:
                raise ValueError(f"{path} is damaged")
            return pickle.loads(content)

    return CheckedFile
