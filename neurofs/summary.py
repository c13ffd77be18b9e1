"""The summary of a comparison: what `summary.json` holds and the tables and sentences are made of.

Schema 1. Numbers that do not exist are null; an *estimate* is ``{"mean", "low", "high"}`` with a 95 % interval
over folds (Nadeau–Bengio). ``metric`` is ``r2`` for continuous targets and ``accuracy`` for classes.

    schema          1
    metric          "r2" or "accuracy"
    reference       the method that all others are compared with: the first selector
    headline        {method, sentences: [str, …], numbers: {best, reference, all, rival, chance}}, each of the
                    numbers {label, method, n, mean, low, high} in units of the metric, the mean over outputs
    session         {name, source, source_hash, duration, span: [s, s], n_channels, n_lags, bin_width,
                    first_lag, n_samples, n_trials, n_gaps, kind: "trials" or "blocks" or "shuffled",
                    outputs: [{name, unit}], classes: [str], dropped: {window, target, period, step: int},
                    notes: [str], warnings: [str]}
    audit           {passed: bool, n_overlaps: int, folds: [{repeat, fold, n_train, n_test, n_overlaps}]}
    methods         [{method, selector, decoder, weighted: share of folds, n: {median, low, high},
                    outputs: {NAME: {r2, r, mse, accuracy, balanced_accuracy: estimate}},
                    pooled: {r2, r, mse, fvaf, accuracy, balanced_accuracy: estimate}}], best first
    tests           [{method, output: NAME or "pooled", difference: estimate (reference minus method, in the
                    metric), effect_size, p, p_holm, wins: share of folds that the reference wins, n_folds}]
    curves          [{selector, weighted, output, n: [int], mse | r2 | accuracy: {mean: [], low: [], high: []}}]
    wins            [{rival, weighted, n: [int], share: [float], n_folds}]   reference against rival, all outputs
    weighting       [{selector, n: [int], share: [float]}]    folds in which weighted beats unweighted kNN
    best_n          [{selector, weighted, output, n, low, high}]   the best number of features on the test curve
    stability       [{selector, output, n, index, low, high}]       Nogueira's index at the median chosen n
    null            [{output, shifts: [s], values: [float], real, p, chance, high}]   metric at shifted targets
    confusion       {method, classes: [str], counts: [[int]]}: rows are the truth; null if not classes
    provenance      {version, versions: {package: version}, python, platform, command, seed, started, seconds,
                    peak_memory, git, inputs: [{path, sha256}], threads}
"""
