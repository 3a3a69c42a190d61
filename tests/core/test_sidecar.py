import json
import resource
import zlib

import numpy as np
import pytest

from enginescope.core.errors import FormatError
from enginescope.core.record import Record
from enginescope.core.sidecar import SEAL, check_seal, load_record, save_record, sealed
from enginescope.judge.samples import Samples, frozen


def saved(tmp_path):
    samples = Samples(metric="latency", values_ms=frozen([1.0, 2.5]), start_ms=frozen([0.0, 3.0]))
    save_record(samples, tmp_path, "it.json")
    return tmp_path


def test_a_round_trip_of_plain_json_with_files_for_arrays_alone(tmp_path) -> None:
    loaded = load_record(Samples, saved(tmp_path), "it.json")
    np.testing.assert_array_equal(loaded.values_ms, [1.0, 2.5])
    np.testing.assert_array_equal(loaded.start_ms, [0.0, 3.0])
    assert loaded.warmup_ms is None
    assert not loaded.values_ms.flags.writeable
    plain = json.loads((saved(tmp_path) / "it.json").read_text())
    data = (tmp_path / "arrays/000.npy").read_bytes()
    assert plain["values_ms"] == {"npy": "arrays/000.npy", "crc32": zlib.crc32(data)}

    class Odd(Record, frozen=True, kw_only=True):
        value: object

    with pytest.raises(TypeError, match="cannot write a complex"):
        save_record(Odd(value=1j), tmp_path, "odd.json")
    text = json.dumps({"log": f'a line with "{SEAL}": "00000000"'}, indent=2).encode() + b"\n"
    check_seal(text, "old")
    check_seal(sealed(text), "new")


def edit(tmp_path, **changes) -> None:
    """Change fields by hand, and remove the checksum as the error says."""
    path = saved(tmp_path) / "it.json"
    document = json.loads(path.read_text()) | changes
    del document[SEAL]
    path.write_text(json.dumps(document))


def test_every_flipped_bit_of_a_record_is_seen(tmp_path) -> None:
    file = saved(tmp_path) / "it.json"
    whole = file.read_bytes()
    for at in range(8 * len(whole)):
        data = bytearray(whole)
        data[at // 8] ^= 1 << at % 8
        with pytest.raises(FormatError, match="its checksum is another"):
            check_seal(bytes(data), "it.json")
    file.write_bytes(whole.replace(b"latency", b"patency"))
    with pytest.raises(FormatError, match=r"it\.json: its checksum is another") as caught:
        load_record(Samples, tmp_path, "it.json")
    assert "remove the last field, record_crc32" in (caught.value.hint or "")


@pytest.mark.parametrize("indent", [None, 2, 4])
def test_a_record_that_was_written_anew_is_not_trusted(tmp_path, indent) -> None:
    file = saved(tmp_path) / "it.json"
    document = json.loads(file.read_text()) | {"metric": "h2d"}
    file.write_text(json.dumps(document, indent=indent))
    with pytest.raises(FormatError, match="changed by hand"):
        load_record(Samples, tmp_path, "it.json")
    del document[SEAL]
    file.write_text(json.dumps(document, indent=indent))
    assert load_record(Samples, tmp_path, "it.json").metric == "h2d"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"values_ms": {"npy": "../../etc/passwd"}}, "outside the folder"),
        ({"values_ms": {"npy": "arrays/999.npy"}}, "cannot read"),
        ({"values_ms": [1, 2]}, "expected an array"),
        ({"metric": 3}, "Expected `str`"),
    ],
)
def test_damage_is_named(tmp_path, changes, why) -> None:
    edit(tmp_path, **changes)
    with pytest.raises(FormatError, match=why):
        load_record(Samples, tmp_path, "it.json")


def test_a_damaged_or_missing_array_is_told(tmp_path) -> None:
    array = saved(tmp_path) / "arrays/000.npy"
    array.write_bytes(array.read_bytes()[:-8])
    with pytest.raises(FormatError, match="cannot read"):
        load_record(Samples, tmp_path, "it.json")
    array = saved(tmp_path) / "arrays/000.npy"
    np.save(array, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FormatError, match="cannot read"):
        load_record(Samples, tmp_path, "it.json")
    with pytest.raises(FormatError, match="No such file"):
        load_record(Samples, tmp_path, "absent.json")
    array = saved(tmp_path) / "arrays/000.npy"
    data = bytearray(array.read_bytes())
    data[-1] ^= 1
    array.write_bytes(data)
    with pytest.raises(FormatError, match="its checksum is another"):
        load_record(Samples, tmp_path, "it.json")
    array = saved(tmp_path) / "arrays/000.npy"
    array.unlink()
    array.symlink_to(array.name)
    with pytest.raises(FormatError, match="cannot read arrays/000"):
        load_record(Samples, tmp_path, "it.json")


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe", b'{"metric": "a'])
def test_not_json(tmp_path, text) -> None:
    saved(tmp_path)
    (tmp_path / "it.json").write_bytes(text)
    with pytest.raises(FormatError, match="not valid JSON"):
        load_record(Samples, tmp_path, "it.json")


@pytest.mark.parametrize("header", [b"{'descr': '<f8', 'shape': (2,", b"{'descr': '<f8' 1 : (2,)}"])
def test_a_damaged_header_is_told(tmp_path, header) -> None:
    """NumPy passes on what its parser of headers raises, which is no error of a value."""
    edit(tmp_path, values_ms={"npy": "arrays/000.npy"})
    start = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little")
    (tmp_path / "arrays/000.npy").write_bytes(start + header + b"\n" + bytes(16))
    with pytest.raises(FormatError, match="cannot read arrays/000"):
        load_record(Samples, tmp_path, "it.json")


@pytest.mark.parametrize("most", [4_096, 5_000, 8_000, 8_127])
def test_an_array_that_does_not_fit_is_not_saved(tmp_path, most) -> None:
    """NumPy itself says nothing if the last block of a file cannot be written."""
    record = Samples(metric="latency", values_ms=frozen(np.arange(1_000.0)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            save_record(record, tmp_path, "it.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (tmp_path / "it.json").exists()


class Held(Record, frozen=True, kw_only=True, eq=False):
    data: np.ndarray


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.zeros((0, 4), np.float32),
        np.array(3.5),
        np.arange(4, dtype=">i2"),
        np.array([True, False]),
    ],
)
def test_arrays_of_every_shape_and_type(tmp_path, array) -> None:
    save_record(Held(data=array), tmp_path, "it.json")
    loaded = load_record(Held, tmp_path, "it.json").data
    np.testing.assert_array_equal(loaded, array)
    assert (loaded.dtype, loaded.shape) == (array.dtype, array.shape)
    assert not loaded.flags.writeable
