"""The built-in demo session."""

from pathlib import Path


def demo_path() -> Path:
    """Return the file of the demo session: in the installed package, or in `data` of a checkout."""
    here = Path(__file__).parent
    places = [here / "demo.nwb", here.parents[1] / "data" / "demo.nwb"]
    return next((place for place in places if place.exists()), places[0])
