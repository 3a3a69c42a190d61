import pytest

from enginescope.core.errors import FormatError, StoreError
from enginescope.store.run_folder import read_run, rewrite, write_run
from tests.store.stored_runs import a_run, edit


@pytest.mark.parametrize(
    ("version", "kind", "why"),
    [
        *((version, FormatError, "no schema_version") for version in (None, "1", 1.5, True, [])),
        *((version, FormatError, f"there is no schema {version}") for version in (0, -1)),
        (9, StoreError, "schema 9, this enginescope reads up to 1"),
    ],
)
def test_a_run_of_another_schema_is_refused(tmp_path, version, kind, why) -> None:
    write_run(a_run(id="abc"), tmp_path)
    edit(tmp_path, schema_version=version)
    before = (tmp_path / "run.json").read_bytes()
    for use in (read_run, lambda folder: rewrite(folder, tags=("new",))):
        with pytest.raises(kind, match=why):
            use(tmp_path)
    assert (tmp_path / "run.json").read_bytes() == before
