"""The works that methods are cited by, as BibTeX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["WORKS", "Work", "cite", "render_bibtex"]


@dataclass(frozen=True)
class Work:
    """A publication: its BibTeX key, its short form in a text, its kind and its fields.

    >>> Work("doe2026", "Doe, 2026", "misc", {"author": "Doe, Jane", "year": "2026"}).short
    'Doe, 2026'
    """

    key: str
    short: str
    kind: str
    fields: Mapping[str, str]


_KNOWN: dict[str, tuple[str, str, dict[str, str]]] = {  # key: short form, kind, fields
    "navot2005": (
        "Navot et al., 2005",
        "inproceedings",
        {
            "author": "Navot, Amir and Shpigelman, Lavi and Tishby, Naftali and Vaadia, Eilon",
            "title": "Nearest Neighbor Based Feature Selection for Regression "
            "and its Application to Neural Activity",
            "booktitle": "Advances in Neural Information Processing Systems 18",
            "year": "2005",
        },
    ),
    "navot2006": (
        "Navot, 2006",
        "phdthesis",
        {
            "author": "Navot, Amir",
            "title": "On the Role of Feature Selection in Machine Learning",
            "school": "The Hebrew University of Jerusalem",
            "year": "2006",
        },
    ),
    "nadeau2003": (
        "Nadeau and Bengio, 2003",
        "article",
        {
            "author": "Nadeau, Claude and Bengio, Yoshua",
            "title": "Inference for the Generalization Error",
            "journal": "Machine Learning",
            "volume": "52",
            "number": "3",
            "pages": "239--281",
            "year": "2003",
            "doi": "10.1023/A:1024068626366",
        },
    ),
    "nogueira2018": (
        "Nogueira et al., 2018",
        "article",
        {
            "author": "Nogueira, Sarah and Sechidis, Konstantinos and Brown, Gavin",
            "title": "On the Stability of Feature Selection Algorithms",
            "journal": "Journal of Machine Learning Research",
            "volume": "18",
            "number": "174",
            "pages": "1--54",
            "year": "2018",
        },
    ),
    "holm1979": (
        "Holm, 1979",
        "article",
        {
            "author": "Holm, Sture",
            "title": "A Simple Sequentially Rejective Multiple Test Procedure",
            "journal": "Scandinavian Journal of Statistics",
            "volume": "6",
            "number": "2",
            "pages": "65--70",
            "year": "1979",
        },
    ),
    "harris2020": (
        "Harris, 2020",
        "misc",
        {
            "author": "Harris, Kenneth D.",
            "title": "A Shift Test for Independence in Generic Time Series",
            "note": "arXiv:2012.06862",
            "year": "2020",
        },
    ),
    "quinlan1986": (
        "Quinlan, 1986",
        "article",
        {
            "author": "Quinlan, J. Ross",
            "title": "Induction of Decision Trees",
            "journal": "Machine Learning",
            "volume": "1",
            "number": "1",
            "pages": "81--106",
            "year": "1986",
            "doi": "10.1007/BF00116251",
        },
    ),
    "robnik1997": (
        "Robnik-Šikonja and Kononenko, 1997",
        "inproceedings",
        {
            "author": "Robnik-{\\v S}ikonja, Marko and Kononenko, Igor",
            "title": "An Adaptation of Relief for Attribute Estimation in Regression",
            "booktitle": "Proceedings of the Fourteenth International Conference on Machine Learning",
            "publisher": "Morgan Kaufmann",
            "pages": "296--304",
            "year": "1997",
        },
    ),
    "kira1992": (
        "Kira and Rendell, 1992",
        "inproceedings",
        {
            "author": "Kira, Kenji and Rendell, Larry A.",
            "title": "A Practical Approach to Feature Selection",
            "booktitle": "Proceedings of the Ninth International Workshop on Machine Learning",
            "publisher": "Morgan Kaufmann",
            "pages": "249--256",
            "year": "1992",
            "doi": "10.1016/B978-1-55860-247-2.50037-1",
        },
    ),
    "kononenko1994": (
        "Kononenko, 1994",
        "inproceedings",
        {
            "author": "Kononenko, Igor",
            "title": "Estimating Attributes: Analysis and Extensions of RELIEF",
            "booktitle": "Machine Learning: ECML-94",
            "publisher": "Springer",
            "pages": "171--182",
            "year": "1994",
            "doi": "10.1007/3-540-57868-4_57",
        },
    ),
    "gilad2004": (
        "Gilad-Bachrach et al., 2004",
        "inproceedings",
        {
            "author": "Gilad-Bachrach, Ran and Navot, Amir and Tishby, Naftali",
            "title": "Margin Based Feature Selection -- Theory and Algorithms",
            "booktitle": "Proceedings of the Twenty-First International Conference on Machine Learning",
            "year": "2004",
            "doi": "10.1145/1015330.1015352",
        },
    ),
    "kohavi1997": (
        "Kohavi and John, 1997",
        "article",
        {
            "author": "Kohavi, Ron and John, George H.",
            "title": "Wrappers for Feature Subset Selection",
            "journal": "Artificial Intelligence",
            "volume": "97",
            "number": "1--2",
            "pages": "273--324",
            "year": "1997",
            "doi": "10.1016/S0004-3702(97)00043-X",
        },
    ),
    "almuallim1994": (
        "Almuallim and Dietterich, 1994",
        "article",
        {
            "author": "Almuallim, Hussein and Dietterich, Thomas G.",
            "title": "Learning Boolean Concepts in the Presence of Many Irrelevant Features",
            "journal": "Artificial Intelligence",
            "volume": "69",
            "number": "1--2",
            "pages": "279--305",
            "year": "1994",
        },
    ),
    "ng1998": (
        "Ng, 1998",
        "mastersthesis",
        {
            "author": "Ng, Andrew Y.",
            "title": "On Feature Selection: Learning with Exponentially many Irrelevant Features "
            "as Training Examples",
            "school": "Massachusetts Institute of Technology",
            "year": "1998",
        },
    ),
    "hoerl1970": (
        "Hoerl and Kennard, 1970",
        "article",
        {
            "author": "Hoerl, Arthur E. and Kennard, Robert W.",
            "title": "Ridge Regression: Biased Estimation for Nonorthogonal Problems",
            "journal": "Technometrics",
            "volume": "12",
            "number": "1",
            "pages": "55--67",
            "year": "1970",
            "doi": "10.1080/00401706.1970.10488634",
        },
    ),
    "wu2006": (
        "Wu et al., 2006",
        "article",
        {
            "author": "Wu, Wei and Gao, Yun and Bienenstock, Elie and Donoghue, John P. and Black, Michael J.",
            "title": "Bayesian Population Decoding of Motor Cortical Activity Using a Kalman Filter",
            "journal": "Neural Computation",
            "volume": "18",
            "number": "1",
            "pages": "80--118",
            "year": "2006",
            "doi": "10.1162/089976606774841585",
        },
    ),
    "cleveland1988": (
        "Cleveland and Devlin, 1988",
        "article",
        {
            "author": "Cleveland, William S. and Devlin, Susan J.",
            "title": "Locally Weighted Regression: An Approach to Regression Analysis by Local Fitting",
            "journal": "Journal of the American Statistical Association",
            "volume": "83",
            "number": "403",
            "pages": "596--610",
            "year": "1988",
            "doi": "10.1080/01621459.1988.10478639",
        },
    ),
    "saunders1998": (
        "Saunders et al., 1998",
        "inproceedings",
        {
            "author": "Saunders, Craig and Gammerman, Alexander and Vovk, Volodya",
            "title": "Ridge Regression Learning Algorithm in Dual Variables",
            "booktitle": "Proceedings of the Fifteenth International Conference on Machine Learning",
            "publisher": "Morgan Kaufmann",
            "pages": "515--521",
            "year": "1998",
        },
    ),
    "pohlmeyer2007": (
        "Pohlmeyer et al., 2007",
        "article",
        {
            "author": "Pohlmeyer, Eric A. and Solla, Sara A. and Perreault, Eric J. and Miller, Lee E.",
            "title": "Prediction of Upper Limb Muscle Activity from Motor Cortical Discharge during Reaching",
            "journal": "Journal of Neural Engineering",
            "volume": "4",
            "number": "4",
            "pages": "369--379",
            "year": "2007",
            "doi": "10.1088/1741-2560/4/4/003",
        },
    ),
    "smola2004": (
        "Smola and Schölkopf, 2004",
        "article",
        {
            "author": 'Smola, Alex J. and Sch{\\"o}lkopf, Bernhard',
            "title": "A Tutorial on Support Vector Regression",
            "journal": "Statistics and Computing",
            "volume": "14",
            "number": "3",
            "pages": "199--222",
            "year": "2004",
            "doi": "10.1023/B:STCO.0000035301.49549.88",
        },
    ),
    "friedman2001": (
        "Friedman, 2001",
        "article",
        {
            "author": "Friedman, Jerome H.",
            "title": "Greedy Function Approximation: A Gradient Boosting Machine",
            "journal": "The Annals of Statistics",
            "volume": "29",
            "number": "5",
            "pages": "1189--1232",
            "year": "2001",
            "doi": "10.1214/aos/1013203451",
        },
    ),
    "rumelhart1986": (
        "Rumelhart et al., 1986",
        "article",
        {
            "author": "Rumelhart, David E. and Hinton, Geoffrey E. and Williams, Ronald J.",
            "title": "Learning Representations by Back-Propagating Errors",
            "journal": "Nature",
            "volume": "323",
            "pages": "533--536",
            "year": "1986",
            "doi": "10.1038/323533a0",
        },
    ),
}

WORKS: dict[str, Work] = {key: Work(key, *facts) for key, facts in _KNOWN.items()}


def cite(*works: Work) -> str:
    """Return works in brackets.

    >>> cite(WORKS["navot2005"], WORKS["holm1979"])
    '(Navot et al., 2005; Holm, 1979)'
    """
    return f"({'; '.join(work.short for work in works)})"


def render_bibtex(works: Iterable[Work], version: str) -> str:
    """Return the works, each once, and the software itself."""
    software = f"@software{{neurofs,\n  title = {{neurofs}},\n  version = {{{version}}}\n}}"
    once = {work.key: work for work in works}
    return "\n\n".join([*map(_entry, once.values()), software]) + "\n"


def _entry(work: Work) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in work.fields.items())
    return f"@{work.kind}{{{work.key},\n{lines}\n}}"
