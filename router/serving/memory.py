"""The process's memory: large blocks go back to the system when they are freed."""

import ctypes
import gc

LARGE_BYTES = 1024 * 1024
SPARE_BYTES = 8 * 1024 * 1024
"""So much free memory the heap's end may keep, so that it does not shrink and grow all the time."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_… of glibc's malloc.h


def give_back_large_blocks() -> bool:
    """
    Keep blocks of 1 MiB and more apart from the heap; whether the C library can be set so.

    Left alone, glibc takes the first freed body of 25 MiB as a sign that such sizes are usual and
    puts the next ones on the heap, where one small block behind them holds all of it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    return bool(mallopt(_MMAP_THRESHOLD, LARGE_BYTES) and mallopt(_TRIM_THRESHOLD, SPARE_BYTES))


def settle_collector() -> None:
    """
    Keep the cycle collector away from what stays: rules, modules and the like live as long as the
    process, and looking through them for every few hundred new objects stopped the loop for tens
    of milliseconds at a time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
