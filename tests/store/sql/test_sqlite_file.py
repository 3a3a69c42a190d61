import pytest

from enginescope.core.errors import StoreError
from enginescope.store.sql.sqlite_file import companions, is_there, move_away


def test_a_database_moves_with_its_companions(tmp_path) -> None:
    file = tmp_path / "index.sqlite"
    assert not is_there(file)
    file.touch()
    assert not is_there(file)
    file.write_bytes(b"x")
    assert is_there(file)
    file = tmp_path / "index.sqlite"
    for one in (file, companions(file)[1]):
        one.write_text(one.name)
    target = move_away(file)
    assert target.name.startswith("index.damaged-")
    assert target.read_text() == "index.sqlite"
    assert companions(target)[1].read_text() == "index.sqlite-wal"
    assert not file.exists()
    assert not companions(target)[0].exists()
    with pytest.raises(StoreError, match="cannot be set aside"):
        move_away(tmp_path / "none")
