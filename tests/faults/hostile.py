"""Archives and models that were made or damaged to do harm: read as a user would read them."""

import io
import random
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from enginescope.cli.main import main
from enginescope.runner.inputs.sample_models import sample_models
from enginescope.store.archive import Store
from tests.faults.ledger import Event, Ledger, check
from tests.faults.writer import drawn_run

ARCHIVE, MODEL = "hostile archive", "hostile model"
_BUG = 4
_LIMIT_S = 300

Maker = Callable[[bytes, random.Random], bytes]


def _zip(*members: tuple[str, bytes], **more: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            for key, value in more.items():
                setattr(info, key, value)
            packed.writestr(info, data)
    return stream.getvalue()


def _tar(name: str, kind: bytes, link: str = "") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as packed:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, link
        packed.addfile(info)
    return stream.getvalue()


def _flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 30)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _flipped_end(data: bytes, chance: random.Random) -> bytes:
    """The directory of a zip file is at its end."""
    at = max(0, len(data) - chance.randint(20, 600))
    return data[:at] + _flipped(data[at:], chance)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _sizes(data: bytes, chance: random.Random) -> bytes:
    """Let an entry of the directory tell another size."""
    changed, at = bytearray(data), data.find(b"PK\x01\x02")
    struct.pack_into("<II", changed, at + 20, chance.getrandbits(32), chance.getrandbits(32))
    return bytes(changed)


_NAMES = (
    "../evil",
    "/tmp/evil",
    "a/../../evil",
    "C:\\evil",
    "..\\evil",
    "evil\x1b[2J",
    "run/\x00x",
)

ARCHIVES: tuple[Maker, ...] = (
    *(_flipped, _flipped, _flipped_end, _flipped_end, _cut, _sizes),
    lambda _data, chance: _zip((chance.choice(_NAMES), b"x"), ("r/run.json", b"{}")),
    lambda _data, chance: _zip(("r/run.json", b"/etc/passwd"), external_attr=0o120777 << 16),
    lambda _data, chance: _zip(("r/run.json", b"{}"), ("r/run.json/x", b"x")),
    lambda _data, chance: _zip(("r/run.json", b"[" * 300_000)),
    lambda _data, chance: _zip(
        ("r/run.json", b"{}"), ("r/zeros", bytes(chance.randint(1, 1 << 24)))
    ),
    lambda _data, chance: _tar(chance.choice(_NAMES[:3]), tarfile.REGTYPE),
    lambda _data, chance: _tar("r/run.json", tarfile.SYMTYPE, "/etc/passwd"),
    lambda _data, chance: _tar("r/run.json", chance.choice((tarfile.FIFOTYPE, tarfile.CHRTYPE))),
    lambda data, chance: data + data,
    lambda _data, chance: b"PK\x05\x06" + chance.randbytes(18),
)


def hostile_archives(top: Path, count: int, seed: str) -> Iterator[Event]:
    """Import, list, check and unpack them: refused or read, and nothing lies elsewhere."""
    chance = random.Random(f"{seed}:archives")
    store, ledger = top / "store", Ledger()
    run = drawn_run(chance)
    Store(store).save(run)
    ledger.keep(run)
    sound = Store(store).export(run.id, top / "sound.zip").read_bytes()
    other = Store(top / "other")
    for number in range(count):
        file = top / "hostile.zip"
        file.write_bytes(ARCHIVES[number % len(ARCHIVES)](sound, chance))
        out = top / "out" / "inner" / "folder"
        commands = (
            ["runs", "import-zip", str(file), "--store", str(other.path)],
            ["archive", "list", str(file), "--check"],
            ["archive", "extract", str(file), "-o", str(out)],
            ["explore", str(file)],
        )
        wrong = [said for command in commands if (said := _bug(command))]
        wrong += [f"{one} was written" for one in top.rglob("evil*") if not one.is_relative_to(out)]
        for one in other.ids():
            other.delete(one)
        found = check(ARCHIVE, store, ledger)
        yield Event(ARCHIVE, found.checked, found.lost, (*found.unreadable, *wrong))


def _bug(command: list[str]) -> str | None:
    """Run a command line here; return what it prints if that is a bug."""
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(said), redirect_stderr(said):
        status = main(command)
    said.seek(0)
    text = said.read()
    return f"{command[:2]}: {text[-800:]}" if status == _BUG or "Traceback" in text else None


def _model(change: Callable[[Any, random.Random], None]) -> Maker:
    """Change a model's message, and write it whatever it says."""

    def make(data: bytes, chance: random.Random) -> bytes:
        import onnx

        model = onnx.load_from_string(data)
        change(model, chance)
        written: bytes = model.SerializeToString()
        return written

    return make


def _external(model: Any, chance: random.Random) -> None:
    tensor = chance.choice(model.graph.initializer)
    tensor.ClearField("raw_data")
    tensor.data_location = 1
    values = {
        "location": chance.choice(
            ("../../../etc/passwd", "/etc/passwd", "missing.bin", "", "a\0b")
        ),
        "offset": chance.choice(("-1", "0", "99999999999999999999", "x")),
        "length": chance.choice(("-5", "1", "99999999999999999999", "")),
    }
    for key, value in values.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value


def _huge(model: Any, chance: random.Random) -> None:
    dimensions = model.graph.input[0].type.tensor_type.shape.dim
    for one in dimensions:
        one.dim_value = chance.choice((1 << 40, -1, 0, 1 << 62))


def _cycle(model: Any, chance: random.Random) -> None:
    nodes = model.graph.node
    nodes[0].input[0] = nodes[-1].output[0]


def _rename(model: Any, chance: random.Random) -> None:
    chance.choice(model.graph.node).op_type = chance.choice(("Nope", "", "\x1b[2J", "If", "Loop"))


def _wrong_tensor(model: Any, chance: random.Random) -> None:
    tensor = chance.choice(model.graph.initializer)
    tensor.dims[:] = [chance.choice((1 << 50, -3, 7))]
    tensor.data_type = chance.choice((0, 1, 99, 8))


MODELS: tuple[Maker, ...] = (
    *(_flipped, _flipped, _cut),
    *map(_model, (_external, _huge, _cycle, _rename, _wrong_tensor)),
    lambda _data, chance: chance.randbytes(chance.randint(0, 5_000)),
)


def hostile_models(top: Path, count: int, seed: str) -> Iterator[Event]:
    """Measure them: an error that names the model or a failed run, and the store is as before."""
    chance = random.Random(f"{seed}:models")
    sound = sample_models(top / "samples")[0].read_bytes()
    store, ledger = top / "store", Ledger()
    for number in range(count):
        file = top / f"hostile{number}.onnx"
        file.write_bytes(MODELS[number % len(MODELS)](sound, chance))
        command = [sys.executable, "-m", "enginescope", "bench", str(file), "--store", str(store)]
        command += ["--on", "ort-cpu", "--iterations", "2", "--warmup", "1", "--timeout", "60s"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S)
        is_bug = done.returncode not in (0, 1, 2, 3) or "Traceback" in done.stderr
        wrong = [f"{file.name}: {done.returncode}: {done.stderr[-800:]}"] if is_bug else []
        for one in set(Store(store).ids()) - ledger.saved.keys():
            ledger.keep(Store(store).load_id(one))
        found = check(MODEL, store, ledger)
        yield Event(MODEL, found.checked, found.lost, (*found.unreadable, *wrong))
