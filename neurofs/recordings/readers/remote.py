"""NWB files over the network: ``https://…``, ``s3://BUCKET/KEY`` of public buckets, ``dandi:DANDISET/PATH``.

Only the blocks that HDF5 asks for are fetched, by ranges of HTTP, and kept in memory while the file is read. A server
that stalls, cuts, lies about lengths or answers with something else gives one line, within `TIMEOUT` per request.
"""

import hashlib
import http.client
import io
import json
import queue
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import OrderedDict
from pathlib import PurePosixPath
from typing import Any

import h5py

from neurofs.ground.config import LoadOptions
from neurofs.ground.errors import InputError, printable
from neurofs.recordings.recording import Recording

BLOCK = 128 * 1024
"""Bytes that are fetched at least; headers of NWB files are small and scattered."""

MOST_BLOCKS, KEPT_BLOCKS = 32, 4096
"""Blocks in one request while data are read in order, and blocks in memory."""

TIMEOUT, STALL, ATTEMPTS = 30.0, 10.0, 3
"""Seconds until a request is given up, seconds without a byte, and requests for the same bytes."""

GRACE = 0.5
"""Seconds after which a request that should have given up is left alone."""

DANDI = "https://api.dandiarchive.org/api"


def name_address(address: str) -> str:
    """Return the name of the file at an address.

    >>> name_address("https://host/sub-1/ses%201.nwb?version=2")
    'ses 1.nwb'
    """
    path = address.partition(":")[2] if address.startswith("dandi:") else urllib.parse.urlsplit(address).path
    return PurePosixPath(urllib.parse.unquote(path)).name or address


def read(address: str, options: LoadOptions) -> Recording:
    """Return the recording in an NWB file elsewhere."""
    from neurofs.recordings.readers.nwb import read_open

    name = name_address(address)
    remote = RemoteFile(_find_url(address))
    try:
        with h5py.File(remote, "r") as file:
            recording = read_open(file, PurePosixPath(name).stem, options, printable(address, 300), remote.fingerprint)
    except (OSError, RuntimeError, LookupError, ValueError, TypeError) as error:
        if remote.failure is not None:
            raise remote.failure from None
        found = printable(str(error).splitlines()[0] if str(error) else type(error).__name__)
        remedy = "Of files elsewhere only NWB is read; download others, or check the address."
        raise InputError("content", "an NWB file", found, remedy) from None
    except InputError:
        if remote.failure is not None:  # the library may have made something else of it
            raise remote.failure from None
        raise
    return recording


def hash_remote(address: str) -> str:
    """Return the fingerprint of a file elsewhere: of its address, size and version, not of its content."""
    return RemoteFile(_find_url(address)).fingerprint


def _find_url(address: str) -> str:
    """Return where to fetch a file from."""
    if address.startswith("s3://"):
        bucket, _, key = address.removeprefix("s3://").partition("/")
        return f"https://{bucket}.s3.amazonaws.com/{urllib.parse.quote(key)}"
    if address.startswith("dandi:"):
        return _find_asset(address.removeprefix("dandi:").strip("/"))
    return urllib.parse.quote(address, safe=":/?#[]@!$&'()*+,;=%~")


def _find_asset(place: str) -> str:
    """Ask the DANDI archive for the file DANDISET[@VERSION]/PATH."""
    dandiset, _, path = place.partition("/")
    number, _, version = dandiset.partition("@")
    if not re.fullmatch(r"\d{6}", number) or not path:
        remedy = "Such as dandi:000128/sub-Jenkins/sub-Jenkins_ses-full_desc-train_behavior+ecephys.nwb."
        raise InputError(f"dandi:{place}", "dandi:DANDISET/PATH, with a number of six digits", place, remedy)
    query = urllib.parse.urlencode({"path": path})
    answer = _fetch(f"{DANDI}/dandisets/{number}/versions/{version or 'draft'}/assets/?{query}", {})[0]
    try:
        assets = {asset["path"]: asset["asset_id"] for asset in json.loads(answer)["results"]}
    except (ValueError, KeyError, TypeError):
        found = "another answer of the archive"
        raise InputError(f"dandi:{place}", "a list of files", found, "Try again later.") from None
    if path not in assets:
        raise InputError(f"dandi:{place}", "a file of this dandiset", "none of this path", "Check dandiset and path.")
    return f"{DANDI}/assets/{assets[path]}/download/"


class RemoteFile(io.RawIOBase):
    """A file elsewhere, of which blocks are fetched when they are read; `failure` says why that ended."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.position, self.n_bytes = url, 0, 0
        self.failure: InputError | None = None
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._next, self._ahead = -1, 1
        self.length, self._version = 0, ""
        self._load(0, 1)

    @property
    def fingerprint(self) -> str:
        """A hash of address, size and version."""
        text = f"{self.url.partition('?')[0]} {self.length} {self._version}"
        return hashlib.sha256(text.encode()).hexdigest()

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it can be read from any place."""
        return True

    def tell(self) -> int:
        """Return the place at which is read next."""
        return self.position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        self.position = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.length}[whence] + offset
        return self.position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from where we are, as far as the file goes."""
        view = memoryview(buffer).cast("B")
        stop, done = min(self.position + len(view), self.length), 0
        while self.position < stop:
            number, offset = divmod(self.position, BLOCK)
            part = self._read_block(number, -(-stop // BLOCK) - number)[offset : offset + stop - self.position]
            view[done : done + len(part)] = part
            self.position += len(part)
            done += len(part)
        return done

    def _read_block(self, number: int, n_wanted: int) -> bytes:
        """Return a block; in a read of many, or where one block follows another, several are fetched at once."""
        if number in self._blocks:
            self._blocks.move_to_end(number)
            return self._blocks[number]
        self._ahead = min(MOST_BLOCKS, self._ahead * 2) if number == self._next else 1
        n_blocks = min(MOST_BLOCKS, max(n_wanted, self._ahead))
        self._load(number, n_blocks)
        self._next = number + n_blocks
        return self._blocks[number]

    def _load(self, number: int, n_blocks: int) -> None:
        if self.failure is not None:
            raise self.failure
        start = number * BLOCK
        stop = min(start + n_blocks * BLOCK, self.length) if self.length else start + n_blocks * BLOCK
        try:
            data, headers = _fetch(self.url, {"Range": f"bytes={start}-{stop - 1}"})
            self._check(data, headers, start, stop)
        except InputError as error:
            self.failure = error
            raise
        self.n_bytes += len(data)
        for i in range(0, len(data), BLOCK):
            self._blocks[number + i // BLOCK] = data[i : i + BLOCK]
        while len(self._blocks) > KEPT_BLOCKS:
            self._blocks.popitem(last=False)

    def _check(self, data: bytes, headers: Any, start: int, stop: int) -> None:
        """Refuse an answer that is not the part that was asked for, of the file that it was before."""
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", headers.get("Content-Range", "").strip())
        if found is None:
            remedy = "Download the file and read it from there."
            raise InputError("server", "a server that sends parts of files", "one that does not", remedy)
        first, last, length = (int(number) for number in found.groups())
        version = headers.get("ETag") or headers.get("Last-Modified") or ""
        if self.length and (length, version) != (self.length, self._version):
            raise InputError("server", "the same file throughout", "another length or version", "Read it again.")
        expected = min(stop, length)
        if (first, last + 1) != (start, expected) or len(data) != expected - start:
            part = f"{len(data):,} bytes from {first:,} on"
            remedy = "The server or something between sends the wrong part; download the file."
            raise InputError("server", f"bytes {start:,} to {expected:,}", part, remedy)
        self.length, self._version = length, version


def _make_opener() -> urllib.request.OpenerDirector:
    """Return what opens addresses of HTTP, and follows redirections to such alone."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        *(urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler),
        *(urllib.request.HTTPRedirectHandler, urllib.request.HTTPErrorProcessor),
        *(urllib.request.HTTPDefaultErrorHandler, urllib.request.UnknownHandler),
    ):
        opener.add_handler(handler())
    return opener


def _fetch(url: str, headers: dict[str, str]) -> tuple[bytes, Any]:
    """Return what an address answers, and its headers; what may pass is tried again until `TIMEOUT`."""
    deadline, reason = time.monotonic() + TIMEOUT, ""
    for attempt in range(ATTEMPTS):
        try:
            return _request_in_time(url, headers, deadline)
        except urllib.error.HTTPError as error:
            elsewhere = "a redirection to what is no address of HTTP" if "not allowed" in str(error.reason) else ""
            reason = elsewhere or (
                "redirections that never end" if 300 <= error.code < 400 else f"{error.code} {printable(error.reason)}"
            )
            error.close()
            if error.code < 500 and error.code not in (408, 429):
                break
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = printable(str(getattr(error, "reason", "") or error) or type(error).__name__)
        left = deadline - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(0.2 * 2**attempt, left))
    remedy = "Check the address and the network, or download the file and read it from there."
    raise InputError("server", f"an answer within {TIMEOUT:g} s", reason or "none", remedy)


def _request_in_time(url: str, headers: dict[str, str], deadline: float) -> tuple[bytes, Any]:
    """Return what a request gives, or give it up at the deadline, whatever it waits for: a name, a line, a byte."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put(_request(url, headers, deadline))
        except (OSError, http.client.HTTPException, ValueError, InputError) as error:
            answers.put(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        answer = answers.get(timeout=max(0.1, deadline + GRACE - time.monotonic()))
    except queue.Empty:
        raise TimeoutError(f"no end of its answer in {TIMEOUT:g} s") from None
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _request(url: str, headers: dict[str, str], deadline: float) -> tuple[bytes, Any]:
    parts = []
    request = urllib.request.Request(url, headers={"User-Agent": "neurofs", "Accept-Encoding": "identity", **headers})
    seconds = max(0.1, min(STALL, deadline - time.monotonic()))
    most = MOST_BLOCKS * BLOCK
    with _make_opener().open(request, timeout=seconds) as response:
        if "Range" in headers and response.status != 206:
            return b"", {}
        while part := response.read1(64 * 1024):
            parts.append(part)
            most -= len(part)
            if time.monotonic() > deadline:
                raise TimeoutError(f"only {sum(map(len, parts)):,} bytes in {TIMEOUT:g} s")
            if most < 0:
                raise InputError("server", "the part that was asked for", "more and more bytes", "Download the file.")
        expected = response.headers.get("Content-Length", "")
        n_bytes = sum(map(len, parts))
        if expected.isdigit() and int(expected) != n_bytes:
            raise TimeoutError(f"{n_bytes:,} of {int(expected):,} bytes, then the end")
        return b"".join(parts), response.headers
