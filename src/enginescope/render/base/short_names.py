"""Names that fit: what siblings or options share is said once, and what differs looks different.

`assets/data.js` has the same rule for what the page shows.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from enginescope.core.record import Record, replace
from enginescope.judge.units import counted


def outcome_word(outcome: str) -> str:
    """Return an outcome in a list: a process that is done may have figures with warnings."""
    word, times, count = outcome.replace("_", " ").partition(" × ")
    return f"{'done' if word == 'ok' else word}{times}{count}"


def shorten(text: str, limit: int) -> str:
    """Return `text`, its middle left out when it is longer than `limit` characters."""
    return text if len(text) <= limit else _cut(text, limit, limit // 2)


def shorten_apart(texts: Sequence[str], limit: int) -> list[str]:
    """Return texts as `shorten` does, such that those that differ still do.

    A fused layer's name has the path of its operators once, and loses its end: of
    ``/layer1/layer1.0/conv/Conv + /layer1/layer1.0/Add`` it is ``layer1.0: conv/Conv + Add``.

    Of texts that would look alike another part is left out: the one nearest their middle that lets
    them differ, else all but the beginning and where they differ first. Where that is not enough
    they get a number.
    """
    whole = list(dict.fromkeys(texts))
    said = {name: _path_once(name) if len(name) > limit else name for name in whole}
    short, alike = dict(said), dict[str, list[str]]()
    for name, text in said.items():
        if len(text) > limit:
            short[name] = shorten(text, limit) if text == name else f"{text[: limit - 1]}…"
            alike.setdefault(short[name], []).append(name)
    for group in alike.values():
        if len(group) > 1:
            short.update(zip(group, _apart([said[name] for name in group], limit), strict=True))
    taken = {name for name in whole if len(name) <= limit}
    for name in whole:
        number = 1
        while len(name) > limit and short[name] in taken:
            number += 1  # the first that no other text has
            short[name] = _numbered(said[name], limit, number)
        taken.add(short[name])
    return [short[text] for text in texts]


def _path_once(name: str) -> str:
    """Return a fused layer's name with the path that its operators share before all of them."""
    operators = [one.split("/") for one in name.split(" + ")]
    modules = [one[:-1] for one in operators]
    pairs = zip(min(modules), max(modules), strict=False)
    shared = [step for step, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    inner = zip(shared, [*shared[1:], ""], strict=False)  # layer1.0 says layer1
    path = "/".join(step for step, next_ in inner if step and not next_.startswith(f"{step}."))
    if not path or len(operators) == 1:
        return name
    return f"{path}: {' + '.join('/'.join(one[len(shared) :]) for one in operators)}"


def _apart(group: Sequence[str], limit: int) -> list[str]:
    for head in sorted(range(limit), key=lambda one: abs(one - limit // 2)):
        cuts = [_cut(one, limit, head) for one in group]
        if len(set(cuts)) == len(group):
            return cuts
    columns = enumerate(zip(*group, strict=False))
    differing = next((at for at, column in columns if len(set(column)) > 1), 0)
    begin = limit // 4
    start = max(begin, differing - 10)
    cuts = [f"{one[:begin]}…{one[start:][: limit - begin - 2]}…" for one in group]
    if len(set(cuts)) == len(group):
        return cuts
    return [_numbered(one, limit, number) for number, one in enumerate(group, 1)]


def _numbered(text: str, limit: int, number: int) -> str:
    mark = f" #{number}"
    return f"{shorten(text, max(1, limit - len(mark)))}{mark}"


def _cut(text: str, limit: int, head: int) -> str:
    tail = limit - 1 - head
    return f"{text[:head]}…{text[len(text) - tail :]}"


#: A model and its backend.
BETWEEN = " · "
#: Characters of a backend's name in a table.
NAME_LENGTH = 34
#: The id of a run, which follows the options.
_ID = re.compile(r" \([0-9a-f]{6,12}\)$")


class ToldApart(Record, frozen=True, kw_only=True):
    """Labels without what they share.

    Attributes:
        labels: As many as were given, in their order.
        shared: What was left out, to be said once: ``options of all: device=1 & tf32=0``; ``None``:
            nothing was.
    """

    labels: tuple[str, ...]
    shared: str | None = None


class _Label(NamedTuple):
    before: str
    options: tuple[str, ...]
    id: str

    @property
    def backend(self) -> str:
        """The backend's name, without its precision."""
        return re.split(r"[:@? ]", self.before.rpartition(BETWEEN)[2], maxsplit=1)[0]

    @property
    def text(self) -> str:
        """The label with what is left of its options."""
        options = f"?{'&'.join(self.options)}" if self.options else ""
        return f"{self.before}{options}{self.id}"


def told_apart(texts: Sequence[str], limit: int | None = None) -> ToldApart:
    """Return labels without the options that all of them share, or all of one backend.

    Args:
        texts: ``trt:fp16?workspace=1GiB``, or ``net.onnx · trt:fp16?workspace=1GiB``. Of a single
            one, and of a backend that only one of them is on, all options stay: they are what it
            is.
        limit: Characters. A longer label whose name no other has is told apart by that: its options
            are left out too, ``trt:fp16 + 2 options``.
    """
    labels = [_read(one) for one in texts]
    said = []
    for name in (None, *dict.fromkeys(label.backend for label in labels)):
        group = [label for label in labels if name is None or label.backend == name]
        held = group[0].options if len(group) > 1 else ()
        shared = [one for one in held if all(one in label.options for label in group)]
        if shared:
            for at, label in enumerate(labels):
                if label in group:
                    left = tuple(one for one in label.options if one not in shared)
                    labels[at] = label._replace(options=left)
            said.append(f"options of {f'all {name}' if name else 'all'}: {' & '.join(shared)}")
    texts_of = {label: label.text for label in labels}
    for label, text in texts_of.items():
        named_alike = sum(other.before == label.before for other in texts_of)
        if limit is not None and label.options and len(text) > limit and named_alike == 1:
            texts_of[label] = f"{label.before} + {counted(len(label.options), 'option')}{label.id}"
    said += [
        f"options of {one.before}: {' & '.join(one.options)}"
        for one, text in texts_of.items()
        if text != one.text
    ]
    made = tuple(texts_of[label] for label in labels)
    if len(set(made)) < len(set(texts)):  # the same options in another order
        return ToldApart(labels=tuple(texts))
    return ToldApart(labels=made, shared="; ".join(said) or None)


def jobs_apart(names: Sequence[str]) -> ToldApart:
    """Return names of jobs, ``net.onnx · trt?workspace=1GiB · batch 1``, with short backends."""
    jobs = [name.split(BETWEEN, 2) for name in names]
    apart = told_apart([job[1] if len(job) > 1 else "" for job in jobs], NAME_LENGTH)
    pairs = zip(jobs, apart.labels, strict=True)
    short = (BETWEEN.join((job[0], *([spec] if spec else ()), *job[2:])) for job, spec in pairs)
    return replace(apart, labels=tuple(short))


def on_text(backend: str) -> str:
    """Return what all were on, in words that may be broken: ``on trt with tf32=0 & device=1``."""
    label = _read(backend)
    return f"on {label.before}" + (f" with {' & '.join(label.options)}" if label.options else "")


def _read(text: str) -> _Label:
    model, between, spec = text.rpartition(BETWEEN)
    name, _, options = _ID.sub("", spec).partition("?")
    found = _ID.search(spec)
    held = tuple(options.split("&")) if options else ()
    return _Label(f"{model}{between}{name}", held, found[0] if found else "")
