"""The labels that Blackrock's event files have for their electrodes, such as ``elec1-12``; neo leaves them out."""

import struct
from pathlib import Path

BASIC, EXTENDED = 336, 32
"""Bytes of the basic header, and of each extended one."""

MOST = 100_000
"""Extended headers of a file; real ones have some hundred."""


def read_labels(path: Path) -> dict[int, str]:
    """Return the label of each electrode that has one; none if the file is another kind of `.nev`."""
    with path.open("rb") as stream:
        basic = stream.read(BASIC)
        if len(basic) < BASIC or basic[:8] not in (b"NEURALEV", b"BREVENTS"):
            return {}
        (n_extended,) = struct.unpack("<I", basic[-4:])
        content = stream.read(EXTENDED * min(n_extended, MOST))
    headers = [content[i : i + EXTENDED] for i in range(0, len(content) - EXTENDED + 1, EXTENDED)]
    found = [struct.unpack("<8sH16s6x", header) for header in headers if header[:8] == b"NEUEVLBL"]
    labels = {number: text.split(b"\0")[0].decode("latin-1").strip() for _, number, text in found}
    return {number: label for number, label in labels.items() if label}
