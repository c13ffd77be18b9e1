"""Model folders: `model.json` and `arrays/NAME.npy`, written whole or not at all, and read with suspicion."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import shutil
from pathlib import Path
from tokenize import TokenError
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from pydantic import ValidationError

from neurofs.decoders.forms import MEMORY, pack_decoder, unpack_decoder
from neurofs.decoders.model import Model
from neurofs.decoders.model_head import SCHEMA, Head, StoredArray, StoredDecoder
from neurofs.decoders.state import REMEDY, Shelf, unfit
from neurofs.ground.errors import InputError, UsageError, printable, quoted
from neurofs.ground.files import make_folder
from neurofs.ground.threads import one_thread
from neurofs.recordings.readers.sizes import Budget, count_bytes

HEAD, ARRAYS = "model.json", "arrays"
MOST_JSON = 16 * 2**20  # 10,000 channels take 2 MB; in memory, it may become 40 times as much
MOST_HEADER = 4096
MOST_DIGITS = 300  # of a whole number; one with more is no float
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


# Writing


def write_model(model: Model, folder: Path, overwrite: bool = False) -> Path:
    """Write a model folder under another name, and move it into place."""
    check_place(folder, overwrite)
    make_folder(folder.parent)
    part, old = (folder.parent / f".{folder.name}.{os.getpid()}.{kind}" for kind in ("part", "old"))
    try:
        shutil.rmtree(part, ignore_errors=True)
        (part / ARRAYS).mkdir(parents=True)
        _write_files(model, part)
        _move(part, folder, old)
    except OSError as error:
        raise InputError(folder, "a folder that can be written", error.strerror, "Check space and rights.") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _move(part: Path, folder: Path, old: Path) -> None:
    """Move a whole model to its place; the one that was there is kept until the other is."""
    if folder.exists():
        os.replace(folder, old)
    try:
        os.replace(part, folder)
    except BaseException:
        if old.exists():
            os.replace(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def check_place(folder: Path, overwrite: bool = False) -> None:
    """Refuse a place where something else is; a model only unless it is to be replaced."""
    if not (folder.exists() or folder.is_symlink()):
        return
    if folder.resolve() in (Path.cwd(), Path(folder.anchor or "/")):
        raise UsageError(f"{printable(folder)}: expected a folder for the model alone; choose another --out")
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        return
    if not (folder / HEAD).is_file() or folder.is_symlink():
        raise UsageError(f"{printable(folder)}: something is there that is no model; choose another --out")
    others = sorted(path.name for path in folder.iterdir() if path.name not in (HEAD, ARRAYS))
    if others:
        raise UsageError(f"{printable(folder)}: beside a model, {quoted(others[0])} is there; choose another --out")
    if not overwrite:
        raise UsageError(f"{printable(folder)}: a model is there; choose another --out, or say --overwrite")


def _write_files(model: Model, folder: Path) -> None:
    shelf, decoders = Shelf(), []
    for decoder, outputs in zip(model.decoders, model.outputs, strict=True):
        decoders.append(StoredDecoder(outputs=list(outputs), **pack_decoder(decoder, shelf)))
    memory = MEMORY.pack(model.memory, shelf, "memory")
    stored = {}
    for name, array in shelf.arrays.items():
        content = io.BytesIO()
        np.save(content, np.ascontiguousarray(array), allow_pickle=False)
        (folder / ARRAYS / f"{name}.npy").write_bytes(content.getvalue())
        digest = hashlib.sha256(content.getbuffer()).hexdigest()
        stored[name] = StoredArray.model_validate(
            {"dtype": str(array.dtype), "shape": list(array.shape), "sha256": digest}
        )
    head = model.head.model_copy(update={"memory": memory, "decoders": decoders, "arrays": stored, "seal": ""})
    plain = head.model_dump(mode="json", by_alias=True)
    plain["seal"] = find_seal(plain)
    (folder / HEAD).write_text(json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")


def find_seal(plain: dict[str, Any]) -> str:
    """Return the SHA-256 of all of a head but its seal, however the file is laid out."""
    content = {key: value for key, value in plain.items() if key != "seal"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


# Reading


def read_model(folder: str | Path) -> Model:
    """Read a model folder; whatever is wrong with it is an `InputError` of one line."""
    folder = Path(folder)
    plain = _read_json(folder)
    head = _check_head(folder, plain)
    shelf = Shelf(_read_arrays(folder, head))
    window = head.binning.n_lags, len(head.channels)
    named = sorted(o for stored in head.decoders for o in stored.outputs)
    if named != list(range(len(head.outputs))):
        raise unfit(f"{folder.name}: decoders", f"each of {len(head.outputs)} outputs once", named)
    decoders = []
    for i, stored in enumerate(head.decoders):
        where = f"{folder.name}: decoder {i}"
        n_columns = len(head.classes) if head.classes else len(stored.outputs)
        try:
            with one_thread():  # as in the fit: what is made anew, such as a table of distances, has the same bytes
                decoders.append(unpack_decoder(stored.model_dump(), shelf, window, n_columns, where))
        except RecursionError:
            raise unfit(where, "a state of few levels", "too many") from None
        except UsageError as error:
            raise unfit(where, "a decoder that is installed", error) from None
    memory = MEMORY.unpack(head.memory, shelf, {"C": len(head.channels)}, f"{folder.name}: memory")
    light = head.model_copy(update={"memory": {}, "decoders": [], "arrays": {}, "seal": ""})
    return Model(light, tuple(decoders), tuple(tuple(stored.outputs) for stored in head.decoders), memory)


def _read_json(folder: Path) -> dict[str, Any]:
    """Return the content of model.json."""
    path = folder / HEAD
    if not folder.is_dir():
        raise InputError(folder, "a model folder", "no folder", "Make one with neurofs fit.")
    if not path.exists() and not path.is_symlink():
        raise InputError(folder, "a model folder", f"no {HEAD}", "Make one with neurofs fit.")
    _check_plain(path, folder)
    if path.stat().st_size > MOST_JSON:
        raise unfit(f"{folder.name}: {HEAD}", f"at most {MOST_JSON:,} bytes", f"{path.stat().st_size:,}")
    try:
        text = path.read_text(encoding="utf-8")
        plain = json.loads(
            text, parse_constant=_refuse, parse_float=_take_finite, parse_int=_take_whole, object_pairs_hook=_take_once
        )
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{folder.name}: {HEAD}", "JSON", error, REMEDY) from None
    if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
        found = plain.get("schema", "none") if isinstance(plain, dict) else type(plain).__name__
        raise unfit(f"{folder.name}: {HEAD}", f"schema {SCHEMA} of a model", f"{found}")
    return plain


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"the number {text}")


def _take_finite(text: str) -> float:
    """Return a number of JSON, which may be written so that no float holds it: 1e999."""
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _take_whole(text: str) -> int:
    return int(text) if len(text) <= MOST_DIGITS else _refuse(f"{text[:9]}…")


def _take_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; of two values under one name, nobody knows which one is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name that is there twice")
    return found


def _check_head(folder: Path, plain: dict[str, Any]) -> Head:
    """Return the head, after a check of its fields and its seal."""
    where = f"{folder.name}: {HEAD}"
    try:
        head = Head.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise unfit(f"{where}: {place}", first["msg"], _tell_short(first["input"])) from None
    except RecursionError:
        raise unfit(where, "few levels", "too many") from None
    if head.seal != find_seal(plain):
        raise unfit(where, "the content that was written", "a change after that")
    names = [channel.name for channel in head.channels]
    if len(set(names)) < len(names):
        raise unfit(f"{where}: channels", "different names", "two of the same")
    if head.classes and len(head.outputs) != 1:
        raise unfit(f"{where}: outputs", "one, which is the class", len(head.outputs))
    return head


def _tell_short(value: Any) -> str:
    """Return a value as it is shown in an error; of a list or an object, only how many values it has."""
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value):,}"
    return str(value)


def _read_arrays(folder: Path, head: Head) -> dict[str, np.ndarray]:
    """Return all arrays, each as large as it says, and all together no larger than memory allows."""
    budget = Budget()
    if head.arrays:
        _check_plain(folder / ARRAYS, folder, is_folder=True)
    return {name: _read_array(folder, name, stored, budget) for name, stored in head.arrays.items()}


def _read_array(folder: Path, name: str, stored: StoredArray, budget: Budget) -> np.ndarray:
    """Return an array of the type and size that the head says; nothing is allocated for what the file itself says."""
    path, where = folder / ARRAYS / f"{name}.npy", f"{folder.name}: {ARRAYS}/{name}.npy"
    _check_plain(path, folder)
    dtype = np.dtype(stored.dtype)
    n_bytes, n_stored = count_bytes(stored.shape, dtype.itemsize), path.stat().st_size
    if not n_bytes < n_stored <= n_bytes + MOST_HEADER:
        raise unfit(where, f"{n_bytes:,} bytes and a header", f"{n_stored:,}")
    budget.take(where, n_bytes, n_stored)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise unfit(where, "a file that can be read", error.strerror) from None
    if hashlib.sha256(content).hexdigest() != stored.sha256:
        raise unfit(where, "the content that was written", "a change after that")
    found = _read_header(content, where)
    if found != (tuple(stored.shape), False, dtype):
        order = ", column by column" if found[1] else ""
        raise unfit(where, f"{stored.dtype} {stored.shape} as {HEAD} says", f"{found[2]} {list(found[0])}{order}")
    return np.frombuffer(content, dtype, offset=n_stored - n_bytes).reshape(stored.shape).copy()


def _read_header(content: bytes, where: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, order and type of an array as its file says."""
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        return HEADERS[version](file)
    except (ValueError, KeyError, EOFError, SyntaxError, TypeError, RecursionError, TokenError) as error:
        raise unfit(where, "an array of NumPy", printable(error) or type(error).__name__) from None


def _check_plain(path: Path, folder: Path, is_folder: bool = False) -> None:
    """Refuse links, devices and whatever else is no plain file or folder."""
    where = f"{folder.name}: {path.relative_to(folder)}"
    what = "folder" if is_folder else "file"
    if path.is_symlink():
        raise unfit(where, f"a plain {what}", "a link")
    if not (path.is_dir() if is_folder else path.is_file()):
        raise unfit(where, f"a plain {what}", "something else" if path.exists() else "none")
