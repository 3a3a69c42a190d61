"""Workflows and issue forms: well-formed, with few rights, and nothing published in a dry run."""

import re
from pathlib import Path
from typing import Any

import pytest

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
def test_a_workflow_reads_only_and_knows_no_secret(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert read(path)["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    for script in re.findall(r"run: .*?(?=\n\s+- |\n\n|\Z)", text, re.DOTALL):
        outside = re.findall(r"\$\{\{\s*github\.(?:event|head_ref|ref_name)", script)
        assert not outside, "what others name reaches a shell as a variable only"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_make_targets_exist(path: Path) -> None:
    for target in re.findall(r"\bmake ([a-z][a-z-]+)", path.read_text(encoding="utf-8")):
        assert target in TARGETS, target


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


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_action_is_named_by_its_commit(path: Path) -> None:
    for used, comment in re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8")):
        if used.startswith("./"):
            continue
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", used), used
        assert re.fullmatch(r" # v\d+(\.\d+)*", comment), comment


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


def test_the_citation_names_the_project() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert {"title", "authors", "message", "license"} <= set(citation)
