"""Honest engines that `validate` fails, and planted damage that it passes.

Twelve models (CNN, transformer, detector, recurrent; half with random weights, half trained), each
in FP32, FP16 and INT8: 36 honest engines, and four kinds of damage in each. INT8 models carry Q/DQ
nodes; TensorRT 8.6, which refuses or breaks most of these, gets the ranges in a calibration cache,
and each Swish in another form.
Damage of recorded outputs (zeroed scores, a dead channel, swapped classes) is made in the
outputs of the honest engine; a weight × 1.15 in the ONNX file, which is converted and built again.
The dead channel is the one of the largest scores, which is swapped with the one farthest from it;
the weight is the last one whose damage moves the outputs in FP32 by 10 % of their spread, or else
the one that moves them most.

Passes if at most 1 of 36 honest engines fails, and of each kind at least 35 of 36 are caught. A run
that was interrupted goes on where it ended. What engines answer is kept, so that the machine with
the GPU needs to do ``--steps honest,weight`` alone.

python -m benchmarks.engine_trial.trial FOLDER [--on ort-cpu|trt] [--trained FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
from benchmarks.engine_trial import damage
from benchmarks.engine_trial.models import MODELS, TrialModel, read_samples

from enginescope.analysis.errors.output_tolerance import ToleranceRequest
from enginescope.analysis.validation.validation import ValidatedSide
from enginescope.core.errors import BackendError, EnginescopeError
from enginescope.core.record import replace
from enginescope.core.sidecar import load_record, save_record
from enginescope.formats.tensors.tensor_files import answer_file, read_answers, write_answers
from enginescope.records.run.job import Job, Limits
from enginescope.records.run.run import Run
from enginescope.records.run.sample_set import AnswerRequest, Preprocessing, Sample, SampleFile
from enginescope.services.accuracy.request import ValidateRequest
from enginescope.services.accuracy.sides import REFERENCE, Side, Sides, spanning_jobs
from enginescope.services.accuracy.validation_run import Plan, ValidationRun, collect_outputs

PRECISIONS = ("fp32", "fp16", "int8")
KINDS = (*damage.RECORDED, damage.WEIGHT)
MOST_FAILED, MOST_MISSED = 1, 1
_REFERENCE, _RUN = "reference", "run.json"
#: cuBLAS and cuDNN are not everywhere; TensorRT's own kernels and Myelin's serve every layer.
#: Builds at the same time share no timing cache.
_TRT = (
    "workspace=2GiB&timing_cache=none&tactic_sources={sources}&builder_optimization_level={level}"
)
_CPU = "ort-cpu?graph_optimization_level=disable"


class Search(NamedTuple):
    """How TensorRT looks for tactics: `builder_optimization_level` and `tactic_sources`.

    Attributes:
        also: What INT8 engines may use besides, ``"fp16"``; by default FP32 alone.
    """

    level: int
    sources: str
    also: str


def backend(on: str, precision: str, search: Search) -> str:
    """Return the backend of an engine side; INT8 models carry their ranges."""
    if on == "ort-cpu":
        return "ort-cpu:fp16" if precision == "fp16" else _CPU
    also = f"{search.also}+" if search.also and precision == "int8" else ""
    name = "trt" if precision == "fp32" else f"trt:{also}{precision}"
    return f"{name}?{_TRT.format(level=search.level, sources=search.sources)}"


class ModelTrial:
    """One model's part of the trial: files, engines, verdicts.

    Args:
        folder: Of the trial; the model's files and results lie in a folder of its name.
        trained: Folder with the trained models; None: they are there already.
    """

    def __init__(
        self, name: str, folder: Path, on: str, search: Search, trained: Path | None
    ) -> None:
        self._name = name
        self._folder, self._on, self._search, self._trained = folder / name, on, search, trained

    @property
    def _model(self) -> TrialModel:
        return MODELS[self._name]

    def prepare(self) -> None:
        """Write the model, its conversions and its samples."""
        home, model = self._folder, self._model
        done = home / "prepared.json"
        if done.is_file():
            return
        home.mkdir(parents=True, exist_ok=True)
        if model.write is not None:
            model.write(home)
        elif self._trained is not None:
            for file in (self._trained / model.name).iterdir():
                (home / file.name).write_bytes(file.read_bytes())
        samples = read_samples(home)
        for number, feeds in enumerate(samples):
            for name, values in feeds.items():
                np.save(home / f"{number}.{name.replace('/', '_')}.npy", values)
        model_file, damaged_file = home / "model.onnx", home / "weight.onnx"
        weight = damage.write_weight_damage(model_file, damaged_file, self._scores(), samples)
        part = damage.write_int8(home / "model.onnx", home / "model.int8.onnx", samples, None)
        damage.write_int8(home / "weight.onnx", home / "weight.int8.onnx", samples, part)
        done.write_text(json.dumps({"damaged_weight": weight, "quarters_in_int8": part}))
        for stem in ("model", "weight"):
            damage.write_ranges(home / f"{stem}.onnx", home / f"{stem}.calibration", samples, part)
            damage.write_swish_as_tanh(home / f"{stem}.onnx", home / f"{stem}.tanh.onnx")

    def _scores(self) -> str:
        import onnx

        model = onnx.load(self._folder / "model.onnx", load_external_data=False)
        return self._model.scores or str(model.graph.output[0].name)

    def collect(self, kind: str, precision: str, seconds: float) -> float:
        """Build one engine and keep what it answers; return the seconds it took."""
        folder, begin = self._answers(kind, precision), time.perf_counter()
        if (folder / _RUN).is_file():
            return 0.0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        request = AnswerRequest(
            folder=str(folder), samples=self._samples(), preprocessing=Preprocessing()
        )
        limits = Limits(timeout_s=seconds, build_timeout_s=seconds)
        job = replace(self._job(kind, precision), limits=limits)
        run = collect_outputs(job, request, lambda _job, _progress: None)
        save_record(run, folder, _RUN)
        return time.perf_counter() - begin

    def _answers(self, kind: str, precision: str) -> Path:
        stem = "weight" if kind == damage.WEIGHT else "honest"
        return self._folder / "answers" / f"{precision}-{stem}"

    def judge(self) -> dict[str, Any]:
        """Compare all sides with the reference; return and store their verdicts."""
        (self._folder / "result.json").unlink(missing_ok=True)
        if not any((self._answers("honest", one) / _RUN).is_file() for one in PRECISIONS):
            raise ValueError("no engine has answered")
        reference = self._request(self._folder / "model.onnx", REFERENCE)
        sides = [
            Side(label=f"{precision}: {kind}", job=self._job(kind, precision))
            for precision in PRECISIONS
            for kind in ("honest", *KINDS)
        ]
        plan = Plan(
            sides=Sides(reference=Side(label=_REFERENCE, job=reference), others=tuple(sides),
                        note=None),
            samples=self._samples(),
            preprocessing=Preprocessing(),
            folder=str(self._folder / "outputs"),
            keeps_inputs=False,
            tolerance=None,
            asked=ToleranceRequest(),
        )  # fmt: skip
        run = ValidationRun(plan, lambda _job, _progress: None, self._collect)
        run.bindings()
        run.answers()
        found = run.compared(lambda _number: None)
        notes = json.loads((self._folder / "prepared.json").read_text())
        result = {
            "model": self._model.name,
            "family": self._model.family,
            "weights": "random" if self._model.write else "trained",
            **notes,
            "verdicts": {
                side.label: _verdict(side) | {"moved": self._moved(number)}
                for number, side in enumerate(found.sides)
            },
            "notices": [notice.message for notice in found.notices],
        }
        (self._folder / "result.json").write_text(json.dumps(result, indent=1))
        return result

    def _collect(self, side: Side, request: AnswerRequest, run_here: Callable[[], Run]) -> Run:
        """Return what an engine has answered, damaged where that is asked; run the reference."""
        if side.label == _REFERENCE:
            return run_here()
        precision, _, kind = side.label.partition(": ")
        folder = self._answers(kind, precision)
        if not (folder / _RUN).is_file():
            raise BackendError(side.label, why="the engine has no outputs")
        target = Path(request.folder)
        target.mkdir(parents=True, exist_ok=True)
        count, scores = len(request.samples), self._scores()
        classes = (0, 0)
        if count and kind in damage.RECORDED:
            reference = target.parent / _REFERENCE
            every = [read_answers(answer_file(reference, at)) for at in range(count)]
            named = [next(one for one in each if one.name == scores) for each in every]
            classes = damage.strongest(self._model, named)
        for at in range(count):
            held = read_answers(answer_file(folder, at))
            changed = [
                damage.damaged(self._model, kind, one, classes)
                if one.name == scores and kind in damage.RECORDED
                else one
                for one in held
            ]
            write_answers(answer_file(target, at), changed)
        return load_record(Run, folder, _RUN)

    def _moved(self, number: int) -> float | None:
        """Return how far damage moves the outputs, in honest errors: RMSE ÷ RMSE, in float64.

        Below 1 the damage is smaller than the rounding of the honest engine.
        """
        outputs, honest = self._folder / "outputs", number - number % (1 + len(KINDS))
        places = ["reference", f"side-{honest + 1}", f"side-{number + 1}"]
        if number == honest or not all(answer_file(outputs / one, 0).is_file() for one in places):
            return None
        held = [self._held(outputs / one) for one in places]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = [
                np.sqrt(
                    np.square(held[2][name] - held[1][name]).mean()
                    / np.square(held[1][name] - reference).mean()
                )
                for name, reference in held[0].items()
            ]
        return float(np.nanmax(ratios))

    def _held(self, folder: Path) -> dict[str, Any]:
        """Return the outputs of all samples in a folder, flat, in float64."""
        samples = [read_answers(answer_file(folder, at)) for at in range(len(self._samples()))]
        return {
            each[0].name: np.concatenate([np.ravel(one.data) for one in each]).astype(np.float64)
            for each in zip(*samples, strict=True)
        }

    def _job(self, kind: str, precision: str) -> Job:
        stem = "weight" if kind == damage.WEIGHT else "model"
        on, is_int8 = backend(self._on, precision, self._search), precision == "int8"
        if is_int8 and self._on == "trt":
            on += f"&calibration_cache={self._folder / stem}.calibration"
        form = (".tanh" if self._on == "trt" else ".int8") if is_int8 else ""
        return self._request(self._folder / f"{stem}{form}.onnx", on)

    def _request(self, path: Path, on: str) -> Job:
        limits = Limits(timeout_s=400.0)
        request = ValidateRequest(models=(path,), on=(on,), limits=limits, is_elsewhere=True)
        return spanning_jobs(request, self._samples())[0]

    def _samples(self) -> tuple[Sample, ...]:
        samples = read_samples(self._folder)
        return tuple(
            Sample(
                name=f"sample {number}",
                files=tuple(
                    SampleFile(
                        input=name,
                        path=str(self._folder / f"{number}.{name.replace('/', '_')}.npy"),
                    )
                    for name in feeds
                ),
            )
            for number, feeds in enumerate(samples)
        )


def _verdict(side: ValidatedSide) -> dict[str, Any]:
    """Return whether a side passes; None where it gave no outputs."""
    if side.diff is None:
        why = side.failure or "; ".join(one.message for one in side.bindings)
        return {"passes": None, "why": why}
    outputs = {
        output.name: {
            "reasons": [f"{one.code}: {one.message}" for one in output.reasons],
            "error_to_spread": output.figures.error_to_spread if output.figures else None,
            "limit": output.error_limit,
        }
        for output in side.diff.outputs
    }
    return {"passes": side.passes, "row": side.tolerance, "outputs": outputs}


def _step(trial: ModelTrial, step: str, *arguments: Any) -> Any:
    return getattr(trial, step)(*arguments)


class Schedule:
    """Runs steps of models in processes of their own.

    Args:
        jobs: Processes at a time.
        deadline: What is not done by then is left; by `time.monotonic`.
    """

    def __init__(self, jobs: int, deadline: float) -> None:
        self._pool = ProcessPoolExecutor(jobs)
        self._deadline = deadline
        self._begin = time.monotonic()

    def run(
        self, trials: dict[str, ModelTrial], steps: Sequence[tuple[str, Sequence[Any]]]
    ) -> None:
        """Do each step for every model, in their order; print what cannot be done."""
        waiting: dict[Future[Any], str] = {
            self._pool.submit(_step, trial, step, *arguments): " ".join(
                (f"{name}: {step}", *(str(one) for one in arguments[:2]))
            )
            for step, arguments in steps
            for name, trial in trials.items()
        }
        while waiting:
            left = self._deadline - time.monotonic()
            done, _ = wait(waiting, timeout=max(left, 0.0), return_when=FIRST_COMPLETED)
            if not done:
                break
            for future in done:
                self._say(waiting.pop(future), future)
        for what in waiting.values():
            print(f"no time left for {what}")

    def _say(self, what: str, future: Future[Any]) -> None:
        error, at = future.exception(), time.monotonic() - self._begin
        said = ""
        if error is not None:
            kind = "" if isinstance(error, EnginescopeError) else f"{type(error).__name__}: "
            said = f" failed: {kind}{str(error)[:600]}"
        elif isinstance(future.result(), float):
            said = f" ({future.result():.1f} s)"
        print(f"{at:4.0f} s  {what}{said}", flush=True)

    def close(self) -> None:
        """End every process of the pool, and those that they started."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in psutil.Process().children(recursive=True):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue


def _cell(verdict: dict[str, Any] | None, *, honest: bool) -> str:
    if verdict is None or verdict["passes"] is None:
        return "not run"
    if honest:
        return "passes" if verdict["passes"] else "**FAILS**"
    if not verdict["passes"]:
        return "caught"
    moved = verdict.get("moved")
    return "**MISSED**" if moved is None else f"**MISSED**, {moved:.1f} × rounding"


def report(results: Sequence[dict[str, Any]]) -> tuple[str, dict[str, Any], bool]:
    """Return the table, the counts, and whether the limits hold."""
    lines = [f"| model | weights | precision | honest | {' | '.join(KINDS)} |",
             "|---|---|---|---" + "|---" * len(KINDS) + "|"]  # fmt: skip
    counts: dict[str, dict[str, int]] = {
        kind: {"run": 0, "wrong": 0} for kind in ("honest", *KINDS)
    }
    for result in results:
        for precision in PRECISIONS:
            cells = []
            for kind in ("honest", *KINDS):
                verdict = result["verdicts"].get(f"{precision}: {kind}")
                cells.append(_cell(verdict, honest=kind == "honest"))
                if verdict is not None and verdict["passes"] is not None:
                    counts[kind]["run"] += 1
                    counts[kind]["wrong"] += verdict["passes"] is (kind != "honest")
            name = f"{result['model']} ({result['family']})"
            lines.append(f"| {name} | {result['weights']} | {precision} | {' | '.join(cells)} |")
    wanted = len(MODELS) * len(PRECISIONS)
    holds = all(
        one["run"] == wanted and one["wrong"] <= (MOST_FAILED if kind == "honest" else MOST_MISSED)
        for kind, one in counts.items()
    )
    lines += ["", *_sentences(counts, wanted)]
    return "\n".join(lines), counts, holds


def _sentences(counts: dict[str, dict[str, int]], wanted: int) -> Iterator[str]:
    for kind, one in counts.items():
        if kind == "honest":
            said = f"{one['wrong']} of {one['run']} honest engines fail; at most {MOST_FAILED}"
        else:
            caught = one["run"] - one["wrong"]
            said = f"{kind}: {caught} of {one['run']} caught; at least {wanted - MOST_MISSED}"
        yield f"{said} of {wanted} wanted"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for models, answers and results")
    parser.add_argument("--on", choices=["ort-cpu", "trt"], default="ort-cpu")
    parser.add_argument("--trained", type=Path, help="folder that `trained.py` wrote")
    parser.add_argument("--only", default="", help="part of a model's name")
    parser.add_argument("--steps", default="prepare,honest,weight,judge")
    parser.add_argument("--precisions", default=",".join(PRECISIONS), help="engines to collect")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--level", type=int, default=1, help="builder_optimization_level")
    parser.add_argument("--sources", default="-CUDNN,-CUBLAS,-CUBLAS_LT", help="tactic_sources")
    parser.add_argument("--also", default="", help="precision beside INT8: fp16")
    parser.add_argument("--seconds", type=float, default=3600.0, help="time limit of the whole")
    parser.add_argument("--each", type=float, default=400.0, help="time limit of an engine, in s")
    parser.add_argument("--output", type=Path, help="JSON file; by default FOLDER/trial.json")
    return parser.parse_args()


def main() -> int:
    asked = _arguments()
    asked.folder.mkdir(parents=True, exist_ok=True)
    schedule = Schedule(asked.jobs, time.monotonic() + asked.seconds)
    search = Search(asked.level, asked.sources, asked.also)
    trials = {
        name: ModelTrial(name, asked.folder, asked.on, search, asked.trained)
        for name in MODELS
        if asked.only in name
    }
    steps = asked.steps.split(",")
    engines = [
        ("collect", (kind, precision, asked.each))
        for kind in ("honest", damage.WEIGHT)
        for precision in asked.precisions.split(",")
        if ("honest" if kind == "honest" else "weight") in steps
    ]
    for one in ([("prepare", ())], engines, [("judge", ())]):
        schedule.run(
            trials, [(step, how) for step, how in one if step == "collect" or step in steps]
        )
    schedule.close()
    if "judge" not in steps:
        return 0
    files = [asked.folder / name / "result.json" for name in trials]
    results = [json.loads(one.read_text()) for one in files if one.is_file()]
    table, counts, holds = report(results)
    print(f"\n{table}\n")
    for result in results:
        for label, verdict in result["verdicts"].items():
            wrong = verdict["passes"] is not label.endswith(": honest")
            if verdict["passes"] is None or wrong:
                print(f"{result['model']}, {label}: {json.dumps(verdict)[:600]}")
    (asked.output or asked.folder / "trial.json").write_text(
        json.dumps({"on": asked.on, "counts": counts, "holds": holds, "results": results}, indent=1)
    )
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
