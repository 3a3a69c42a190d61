import struct
import zlib

from enginescope.render.html.images import recompressed


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def test_pixels_and_other_chunks_stay() -> None:
    rows = (b"\0" + b"\7" * 90) * 40
    stored = zlib.compress(rows, 0)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 30, 40, 8, 2, 0, 0, 0))
    text, end = chunk(b"tEXt", b"a\0b"), chunk(b"IEND", b"")
    halves = chunk(b"IDAT", stored[:50]) + chunk(b"IDAT", stored[50:])
    small = recompressed(b"\x89PNG\r\n\x1a\n" + header + halves + text + end)
    packed = zlib.compress(rows, 8)
    assert small == b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", packed) + text + end
    assert len(packed) < len(stored) / 10
