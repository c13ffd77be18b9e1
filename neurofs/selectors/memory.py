"""Whether a search fits into memory, asked before it begins."""


def memory_limit() -> int:
    """Return the bytes that a selector may take: half of the machine's memory."""
    from neurofs.recordings.readers.sizes import memory_size

    return memory_size() // 2


def check_memory(n_bytes: int, what: str, remedy: str, limit: int | None = None) -> None:
    """Refuse what takes more than `limit` bytes, by default half of the memory.

    >>> check_memory(5 * 2**30, "a beam of 50 sets", "Set beam_width=10.", limit=2**30)
    Traceback (most recent call last):
    ValueError: a beam of 50 sets takes 5.0 GiB, more than half of the memory (1.0 GiB). Set beam_width=10.
    """
    limit = memory_limit() if limit is None else limit
    if n_bytes > limit:
        found, most = n_bytes / 2**30, limit / 2**30
        raise ValueError(f"{what} takes {found:.1f} GiB, more than half of the memory ({most:.1f} GiB). {remedy}")
