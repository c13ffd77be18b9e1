"""The works that methods are cited by: ``works.bib`` beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_ENTRY = re.compile(r"@(\w+)\{\s*([^\s,]+)\s*,(.*?)\n?\}\s*(?=@|\Z)", re.S)
_FIELD = re.compile(r"(\w+)\s*=\s*\{(.*?)\}\s*(?:,\s*|\Z)(?=\w+\s*=|\Z)", re.S)
_ACCENTS = {"{\\v S}": "Š", '{\\"o}': "ö"}


@dataclass(frozen=True)
class Work:
    """A publication: the key, the kind and the fields of its BibTeX entry.

    >>> Work.from_bibtex("@misc{doe2026, author = {Doe, Jane and Roe, Max}, year = {2026}}").short
    'Doe and Roe, 2026'
    """

    key: str
    kind: str
    fields: Mapping[str, str]

    @classmethod
    def from_bibtex(cls, text: str) -> Work:
        """Return the work of one BibTeX entry, whose values are in braces."""
        (work,) = read_bibtex(text)
        return work

    @property
    def short(self) -> str:
        """How a text cites the work: names and year."""
        author = self.fields["author"]
        for tex, letter in _ACCENTS.items():
            author = author.replace(tex, letter)
        names = [name.partition(",")[0] for name in author.split(" and ")]
        who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return f"{who}, {self.fields['year']}"

    def to_bibtex(self) -> str:
        """Return the entry as BibTeX."""
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in self.fields.items())
        return f"@{self.kind}{{{self.key},\n{lines}\n}}"


def read_bibtex(text: str) -> list[Work]:
    """Return the works of a BibTeX file of the form of ours."""
    return [Work(key, kind, dict(_FIELD.findall(body.strip()))) for kind, key, body in _ENTRY.findall(text)]


WORKS = {work.key: work for work in read_bibtex(Path(__file__).with_suffix(".bib").read_text(encoding="utf-8"))}


def cite(*works: Work) -> str:
    """Return works in brackets.

    >>> cite(WORKS["navot2005"], WORKS["holm1979"])
    '(Navot et al., 2005; Holm, 1979)'
    """
    return f"({'; '.join(work.short for work in works)})"


def render_bibtex(works: Iterable[Work], version: str) -> str:
    """Return the works, each once, and the software itself."""
    once = {work.key: work for work in works}
    software = Work("neurofs", "software", {"title": "neurofs", "version": version})
    return "\n\n".join(work.to_bibtex() for work in (*once.values(), software)) + "\n"
