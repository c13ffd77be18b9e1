"""A target that cannot be decoded, whatever the spikes say."""

from collections.abc import Iterator, Sequence

import numpy as np

from neurofs.ground.errors import quoted
from neurofs.recordings.checks.behavior import NEARLY_ALL
from neurofs.recordings.remarks import Remark


def check_target(targets: np.ndarray, outputs: Sequence[str], classes: Sequence[str]) -> Iterator[Remark]:
    """Yield the outputs, columns of `targets`, that are nearly constant or only rise.

    >>> [remark.text for remark in check_target(np.eye(100)[:, :1], ["lick"], [])]
    ["the target 'lick' is nearly constant: 99.0% of samples are 0"]
    """
    for output, values in zip(outputs, targets.T, strict=True):
        numbers, counts = np.unique(values, return_counts=True)
        share = float(counts.max() / len(values))
        usual = classes[int(numbers[counts.argmax()])] if classes else f"{numbers[counts.argmax()]:g}"
        if share > NEARLY_ALL:
            text = f"the target {quoted(output)} is nearly constant: {share:.1%} of samples are {usual}"
            yield Remark(text, serious=True)
        elif not classes and len(numbers) > 20 and (np.diff(values) >= 0).all():
            text = f"the target {quoted(output)} only rises: any slow drift of rates predicts it"
            yield Remark(text, serious=True)
