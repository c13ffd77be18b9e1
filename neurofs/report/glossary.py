"""The words and formulas that a report uses, explained."""

from __future__ import annotations

__all__ = ["GLOSSARY"]

GLOSSARY = [
    {
        "term": "Channel, lag, feature",
        "text": (
            "A feature is the spike count of one channel at one lag. A positive lag means that the spikes "
            "come before the movement; lag 0 is the bin of the movement itself."
        ),
        "formula": "",
    },
    {
        "term": "Fold, repeat",
        "text": (
            "The session is cut into folds of whole trials or blocks; each fold is decoded once by a model "
            "that was trained on the others. A repeat does it again with another order."
        ),
        "formula": "",
    },
    {
        "term": "MSE, mean squared error",
        "text": (
            "Mean squared distance of decoded ĝ and true g over the test samples; in squared units of the "
            "target."
        ),
        "formula": "MSE = mean (g − ĝ)²",
    },
    {
        "term": "R²",
        "text": (
            "Share of the target's variance in the test samples that is decoded. 1 is perfect, 0 is as "
            "good as knowing the mean of the test samples, and it is negative when the decoder does worse "
            "than that."
        ),
        "formula": "R² = 1 − Σ (g − ĝ)² / Σ (g − mean g)²",
    },
    {
        "term": "FVAF",
        "text": (
            "Fraction of variance accounted for: R² over all outputs together, so that outputs with more "
            "variance count more."
        ),
        "formula": "FVAF = 1 − Σ_outputs Σ (g − ĝ)² / Σ_outputs Σ (g − mean g)²",
    },
    {
        "term": "r",
        "text": (
            "Pearson's correlation of decoded and true values. Blind to errors of scale and offset, which "
            "R² counts."
        ),
        "formula": "r = cov(g, ĝ) / (sd g · sd ĝ)",
    },
    {
        "term": "Accuracy, balanced accuracy",
        "text": (
            "Share of samples whose class is right; balanced: the mean of that share over classes, so that "
            "frequent classes do not count more."
        ),
        "formula": "balanced accuracy = mean over classes of (right in class / samples of class)",
    },
    {
        "term": "Chance",
        "text": (
            "What the same decoder reaches when the target is shifted against the spikes by many seconds. "
            "It is measured here, not assumed."
        ),
        "formula": "p = (1 + shifts at least as good) / (1 + shifts)",
    },
    {
        "term": "95 % interval",
        "text": (
            "Interval over folds; folds share training data, and the correction of Nadeau and Bengio "
            "widens it accordingly."
        ),
        "formula": "mean ± t · sd · √(1/J + n_test/n_train), J folds in all",
    },
    {
        "term": "p (Holm)",
        "text": (
            "p-value of the paired comparison with the reference, corrected for the number of comparisons."
        ),
        "formula": "",
    },
    {
        "term": "Winning percentage",
        "text": "Share of folds in which the first method decodes better than the other.",
        "formula": "wins = (folds won + ½ folds tied) / folds",
    },
    {
        "term": "Weight",
        "text": (
            "How much a selector lets a feature count. RGS learns it from the leave-one-out error of "
            "nearest-neighbor regression: neighbors are close when they agree in the features that matter."
        ),
        "formula": "distance² = Σ_f w_f² (x_f − x'_f)²",
    },
    {
        "term": "Rank, chosen n",
        "text": (
            "Features in order of their weight; n is the number of best features in use, chosen inside the "
            "training part."
        ),
        "formula": "",
    },
    {
        "term": "Stability",
        "text": "Agreement of the sets selected in different folds, corrected for chance (Nogueira).",
        "formula": (
            "1 − mean_f [M/(M−1) · p_f (1 − p_f)] / [(n/N)(1 − n/N)], p_f: share of M sets with feature f "
            "of N"
        ),
    },
    {
        "term": "Fano factor",
        "text": "Variance over mean of a channel's counts; 1 for a Poisson process.",
        "formula": "F = var(count) / mean(count)",
    },
    {
        "term": "Presence",
        "text": (
            "Share of 20 equal parts of the session in which a channel has spikes; below 0.8 it is called "
            "active in part."
        ),
        "formula": "",
    },
]
