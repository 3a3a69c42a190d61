"""A task scores outputs: `validate --task` takes it.

This task is the mean absolute error of the first output; targets are `.npy` files.
"""

import numpy as np

from enginescope.analysis.tasks.base import SampleScore, TaskMetric, TaskScores


class ArrayTargets:
    in_order = False

    def __init__(self, folder):
        files = {file.stem: file for file in folder.glob("*.npy")}
        self.base_names = lambda: tuple(files)
        self.read = lambda name: np.load(files[name])


class ErrorScorer:
    def __init__(self):
        self.errors = []

    def add(self, answers, target):
        right = target if isinstance(target, np.ndarray) else target[0].data
        self.errors.append(float(np.abs(answers[0].data - right).mean()))
        return SampleScore(values={"mae": self.errors[-1]})

    def result(self):
        return TaskScores(values={"mae": float(np.mean(self.errors)) if self.errors else None})


class MeanErrorTask:
    name, title, fits = "mean-error", "Mean absolute error", ("stretch",)
    metrics = agreement_metrics = (TaskMetric(name="mae", title="MAE", better="lower"),)
    averaged = agreement_averaged = "Means over all samples."
    targets, against_targets, against_reference = ArrayTargets, ErrorScorer, ErrorScorer

    def __init__(self, options):
        self.options = options  # of mean-error?KEY=VALUE
