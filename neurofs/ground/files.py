"""Files: written whole or not at all, folders made, half-written parts removed, contents hashed; addresses."""

import errno
import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from neurofs.ground.errors import InputError, UsageError, printable

ADDRESS = re.compile(r"(https?|s3):/{1,2}(?=[^/])", re.IGNORECASE)
"""How addresses of files elsewhere begin; as a path, one of two slashes is gone."""

SLASH = "[/" + re.escape(os.sep) + "]"
ANY_FOLDER = re.compile(rf"(?:^|(?<={SLASH}))(?:\*\*{SLASH})*\*\*(?:{SLASH}|$)")
"""`**` as a whole part of a pattern, or several of them."""


def find_address(source: str | Path) -> str | None:
    """Return the address of a file elsewhere, None for a path on this machine.

    >>> find_address("s3://bucket/day 1.nwb"), find_address(Path("https://host/a.nwb")), find_address("a.nwb")
    ('s3://bucket/day 1.nwb', 'https://host/a.nwb', None)
    """
    text = source.as_posix() if isinstance(source, Path) else source
    if text.startswith("dandi:"):
        return text
    found = ADDRESS.match(text)
    return f"{found[1].lower()}://{text[found.end() :]}" if found else None


def make_absolute(source: str | Path) -> str:
    """Return an absolute path, or an address as it is."""
    return find_address(source) or str(Path(source).resolve())


def make_folder(folder: str | Path) -> Path:
    """Make a folder, with those around it, unless it is there."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, "a folder that can be made", error.strerror, "Check path and rights.") from None
    return folder


def prepare_place(file: Path | None) -> None:
    """Make the folder of a file to be written later: a bad place is found before the work, not after it."""
    if file is None:
        return
    make_folder(file.parent)
    if file.is_dir():
        raise InputError(file, "the name of a file", "a folder", "Name a file in it.")


def check_free(places: Iterable[Path], inputs: Iterable[Path], overwrite: bool = False) -> None:
    """Refuse places of files to be written where an input is, always, or another file, unless `overwrite`."""
    read = {path.resolve() for path in inputs}
    for place in places:
        if place.resolve() in read:
            raise UsageError(f"{printable(place)}: is read, and would be replaced by the result; choose another --out")
        if place.is_file() and not overwrite:
            raise UsageError(f"{printable(place)}: a file is there; choose another --out, or say --overwrite")


def write_atomically(path: Path, content: str | bytes) -> Path:
    """Write a whole file or none: under another name first, then moved into place."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise InputError(path, "a folder that can be written", error.strerror, "Check space and rights.") from None
    finally:
        part.unlink(missing_ok=True)
    return path


def remove_parts(*folders: Path) -> None:
    """Remove half-written files: those of a process that was killed, or of a child stopped while it wrote."""
    for folder in folders:
        for path in folder.glob(".*.part"):
            path.unlink(missing_ok=True)


def find_paths(folder: Path, pattern: str) -> list[str]:
    """Return what matches a pattern in a folder, by name; `**` stands for all folders, each of which is met once.

    `glob` goes round where a link leads back, and without end where two do.
    """
    found = ANY_FOLDER.search(pattern)
    if not found:
        return sorted(glob.glob(pattern, root_dir=folder))
    head, rest = pattern[: found.start()], pattern[found.end() :] or "*"
    starts = [name for name in glob.glob(head, root_dir=folder) if (folder / name).is_dir()] if head else [""]
    inside = [os.path.join(start, place) for start in starts for place in _walk_folders(folder / start)]
    return sorted({os.path.join(place, name) for place in inside for name in find_paths(folder / place, rest)})


def _walk_folders(folder: Path) -> Iterator[str]:
    """Yield a folder as an empty name, and every folder in it, but those whose names begin with a dot."""
    met: set[tuple[int, int]] = set()
    for place, names, _ in os.walk(folder, followlinks=True):
        found = os.stat(place)
        if (found.st_dev, found.st_ino) in met:
            names.clear()
            continue
        met.add((found.st_dev, found.st_ino))
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield "" if place == str(folder) else os.path.relpath(place, folder)


def check_file(path: Path) -> Path:
    """Return the path of a file, or of none; a pipe or a device, at which one waits without end, is an `OSError`."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "a pipe or a device", str(path))
    return path


def read_file(path: Path) -> bytes:
    """Return the content of a file; raise `OSError` of what cannot be read (`check_file`)."""
    return check_file(path).read_bytes()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of the content of a file."""
    with check_file(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hash_files(paths: Iterable[Path], folder: Path | None = None) -> str:
    """Return the SHA-256 of the names (in `folder`, their paths) and contents of several files, in order of these."""
    names = {path: path.relative_to(folder).as_posix() if folder else path.name for path in paths}
    lines = sorted(f"{name} {hash_file(path)}\n" for path, name in names.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def match_files(base: Path, pattern: str) -> list[tuple[Path, str]]:
    """Return the files in a folder that match a pattern, by name; those whose own name others have get one from
    their folders, too, all others none.

    >>> [(path.name, name) for path, name in match_files(Path(__file__).parent, "file[rst].py")]
    [('files.py', '')]
    """
    found = find_paths(base, pattern)
    stems = [Path(file).stem.casefold() for file in found]
    return [
        (base / file, "-".join(Path(file).with_suffix("").parts) if stems.count(stem) > 1 else "")
        for file, stem in zip(found, stems, strict=True)
    ]
