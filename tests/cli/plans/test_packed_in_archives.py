"""Files packed with gzip inside archives open like plain ones."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from enginescope.services.plans.import_artifacts import import_artifacts
from enginescope.services.plans.resolve_plan import resolve_plan
from tests.formats import logs, plans

LOG = f"{logs.PREFIX}Using random values for input x\n{logs.prefixed(logs.SUMMARY)}{logs.PASSED}"
FILES = {
    "net.graph.json.gz": gzip.compress(plans.encoded(plans.tensorrt_11())),
    "other/net.log.gz": gzip.compress(LOG.encode()),
}


def archive(path: Path) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as made:
            for name, data in FILES.items():
                made.writestr(name, data)
        return path
    with tarfile.open(path, "w:gz" if path.suffix in (".gz", ".tgz") else "w:") as made:
        for name, data in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz"])
def test_packed_files_in_an_archive_open(tmp_path, name) -> None:
    path = archive(tmp_path / name)
    runs = [view.run for view in import_artifacts(path)]
    assert sum(run.plan is not None for run in runs) == 1
    assert sum(run.tool is not None for run in runs) == 1
    assert resolve_plan(path).plan.source_schema == "trt11"
