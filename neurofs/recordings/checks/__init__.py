"""What a person should know before trusting a recording: one list of remarks, the serious ones first.

A check is a function that takes a `Recording` and yields a `Remark` for each thing that is odd. It looks at values, not
at formats, so that a mistake is found in whatever file it was made. Readers add what only they can know, such as a
unit that was converted (`Recording.remarks`).
"""

from neurofs.recordings.checks.behavior import check_behavior
from neurofs.recordings.checks.channels import check_channels
from neurofs.recordings.checks.clocks import check_clocks
from neurofs.recordings.checks.copies import check_copies
from neurofs.recordings.checks.counts import check_counts
from neurofs.recordings.checks.neighbors import check_neighbors
from neurofs.recordings.checks.spikes import check_spikes
from neurofs.recordings.checks.trials import check_trials
from neurofs.recordings.recording import Recording
from neurofs.recordings.remarks import Remark

CHECKS = (
    check_counts,
    check_neighbors,
    check_spikes,
    check_channels,
    check_clocks,
    check_behavior,
    check_copies,
    check_trials,
)


def find_remarks(recording: Recording) -> list[Remark]:
    """Return what is odd about a recording, the serious things first.

    >>> [remark.text for remark in find_remarks(Recording("toy", spikes=[[0.5, 20.0]], observed=[[0, 30]]))]
    ['only 30.0 s observed: expect wide intervals']
    """
    found = [*recording.remarks, *(remark for check in CHECKS for remark in check(recording))]
    return sorted(dict.fromkeys(found), key=lambda remark: not remark.serious)
