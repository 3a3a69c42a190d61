"""The manifest of an Indexed Job."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from enginescope.core.errors import UsageError
from enginescope.records.run.job import Subject
from enginescope.runner.fleet.cell_array import CellArray
from enginescope.runner.fleet.cell_task import REMOTE_CELL
from enginescope.runner.fleet.k8s_job import Cluster, job_of
from tests.conftest import missing
from tests.runner.fleet.cells import cell

FOLDER = Path("/mnt/suites/s")
CLUSTER: dict[str, Any] = {"image": "me/es:1", "mounts": (("suites", "/mnt/suites"),)}
FULL: dict[str, Any] = {
    "namespace": "ml-team",
    "jobs": 2,
    "requests": {"cpu": "8", "memory": "16Gi", "ephemeral-storage": "1e9"},
    "limits": {"cpu": "8500m", "memory": "32Gi"},
    "node_selector": {"topology.kubernetes.io/zone": "a_1"},
    "tolerations": ("nvidia.com/gpu:NoSchedule", "team=ml:NoExecute", "spot"),
    "pull_secrets": ("registry.example",),
}


def made(*cells, suite: str = "night", **cluster: Any) -> dict[str, Any]:
    array = CellArray(name="a1b2", cells=cells, folder=FOLDER)
    return job_of(array, suite, Cluster(**{**CLUSTER, **cluster}))


def pod(job):
    return job["spec"]["template"]["spec"]


def test_a_job_of_cells() -> None:
    job = made(cell(), cell("k1", retries=1), cell("k2"))
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert job["metadata"]["name"] == "es-night-a1b2"
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
    assert spec["backoffLimitPerIndex"] == 1
    assert "backoffLimit" not in spec
    (container,) = pod(job)["containers"]
    assert container["image"] == "me/es:1"
    files = [str(FOLDER / "tasks" / "a1b2"), str(FOLDER / "returned")]
    assert container["command"] == ["python3", "-m", REMOTE_CELL, *files, "indexed"]
    assert container["volumeMounts"] == [{"name": "v0", "mountPath": "/mnt/suites"}]
    assert "resources" not in container
    assert pod(job)["volumes"] == [{"name": "v0", "persistentVolumeClaim": {"claimName": "suites"}}]
    assert pod(job)["restartPolicy"] == "Never"
    assert pod(job)["activeDeadlineSeconds"] == 1_320  # of the longest cell
    assert "activeDeadlineSeconds" not in job["spec"]
    assert pod(job)["automountServiceAccountToken"] is False
    assert not {"tolerations", "imagePullSecrets", "nodeSelector"} & pod(job).keys()
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels == job["metadata"]["labels"]


def test_all_that_can_be_asked_for() -> None:
    job = made(cell(), cell("k1"), cell("k2"), **FULL)
    assert job["metadata"]["namespace"] == "ml-team"
    assert job["spec"]["parallelism"] == 2
    resources = pod(job)["containers"][0]["resources"]
    assert resources == {"requests": FULL["requests"], "limits": FULL["limits"]}
    assert pod(job)["nodeSelector"] == {"topology.kubernetes.io/zone": "a_1"}
    assert pod(job)["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoExecute"},
        {"key": "spot", "operator": "Exists"},
    ]
    assert pod(job)["imagePullSecrets"] == [{"name": "registry.example"}]
    assert made(cell(), jobs=5)["spec"]["parallelism"] == 1


def test_a_gpu_and_its_kind() -> None:
    asked = pod(made(cell(backend="trt", gpu="NVIDIA-H200"), requests={"cpu": "4"}))
    gpu = {"nvidia.com/gpu": "1"}
    resources = asked["containers"][0]["resources"]
    assert resources == {"requests": {**gpu, "cpu": "4"}, "limits": gpu}
    assert asked["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H200"}
    assert "nodeSelector" not in pod(made(cell(backend="trt")))
    own = made(cell(gpu="h200"), gpu_label="gpu-kind=nvidia-{gpu}", node_selector={"zone": "a"})
    assert pod(own)["nodeSelector"] == {"gpu-kind": "nvidia-h200", "zone": "a"}


def keeps_off(one) -> dict[str, str]:
    affinity = pod(made(one))["affinity"]["podAntiAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    return term["labelSelector"]["matchLabels"]


def matches(selector: dict[str, str], one) -> bool:
    return selector.items() <= made(one)["metadata"]["labels"].items()


def test_cells_that_disturb_each_other_are_never_on_one_node() -> None:
    on_cpu, on_gpu = cell(), cell("k1", "trt")
    alone = cell("k2", "trt", exclusive=True)
    assert all(matches(keeps_off(on_cpu), one) for one in (on_cpu, on_gpu, alone))
    assert all(matches(keeps_off(alone), one) for one in (on_cpu, on_gpu, alone))
    assert not matches(keeps_off(on_gpu), on_gpu)
    assert all(matches(keeps_off(on_gpu), one) for one in (on_cpu, alone))


def test_names_are_what_kubernetes_takes() -> None:
    name = made(cell(), suite="My_Suite " + "x" * 80)["metadata"]["name"]
    assert len(f"{name}-999") <= 63  # the name of a pod
    assert name.endswith("-a1b2")
    assert name.replace("-", "").isalnum()
    assert name == name.lower()


DNS = "of RFC 1123"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"namespace": "My_Team"}, f"namespace 'My_Team': not a label {DNS}"),
        ({"namespace": ""}, f"namespace '': not a label {DNS}"),
        ({"namespace": "ml.team"}, f"not a label {DNS}: 1 to 63 of a-z, 0-9 and -"),
        ({"namespace": "a" * 64}, f"not a label {DNS}"),
        ({"namespace": "-a"}, "a letter or digit at both ends"),
        ({"namespace": "a\n"}, f"not a label {DNS}"),
        ({"namespace": "ä"}, f"not a label {DNS}"),
        ({"mounts": (("Suites", "/mnt/suites"),)}, f"volume claim 'Suites': not a subdomain {DNS}"),
        ({"mounts": (("a", "/mnt/a:b"),)}, "a pod cannot mount /mnt/a:b: it has a colon"),
        ({"mounts": (("a", "/m"), ("b", "/m"))}, "cannot mount /m: two volumes would be there"),
        ({"pull_secrets": ("a..b",)}, f"pull secret 'a..b': not a subdomain {DNS}"),
        ({"limits": {"memory": "32GB"}}, "resource memory '32GB': not a quantity: 2, 500m, 0.5"),
        ({"requests": {"cpu": ""}}, "resource cpu '': not a quantity"),
        ({"requests": {"a/b/c": "1"}}, "resource 'a/b/c': not a key"),
        ({"node_selector": {"zone": "a b"}}, "node selector zone 'a b': not a value of a label"),
        ({"node_selector": {"": "a"}}, "node selector '': not a key"),
        ({"tolerations": ("gpu:Never",)}, "toleration gpu:Never: 'Never' is not one of NoSchedule"),
        ({"tolerations": ("gpu:",)}, "'' is not one of NoSchedule"),
        ({"tolerations": ("=x",)}, "toleration '': not a key"),
        ({"gpu_label": "gpu"}, "GPU label gpu: not LABEL=VALUE with {gpu} in it"),
    ],
)
def test_names_that_kubernetes_refuses(options, said) -> None:
    with pytest.raises(UsageError) as caught:
        made(cell(), **options)
    assert said in f"{caught.value.what}: {caught.value.why}"


def test_a_kind_of_gpu_that_is_no_label() -> None:
    with pytest.raises(UsageError, match="gpu 'NVIDIA H200': not a value of a label"):
        made(cell(gpu="NVIDIA H200"))


def test_every_file_is_on_a_volume(tmp_path) -> None:
    model = tmp_path / "net.onnx"
    model.write_bytes(b"onnx")
    one = cell(subject=Subject(name="net", kind="onnx", path=str(model)))
    with pytest.raises(UsageError, match=f"{tmp_path} is on no volume"):
        made(one)
    mounts = (*CLUSTER["mounts"], ("models", str(tmp_path)))
    assert len(pod(made(one, mounts=mounts))["volumes"]) == 2
    with pytest.raises(UsageError, match=f"{FOLDER} is on no volume") as caught:
        made(cell(), mounts=())
    assert "-o FOLDER" in caught.value.hint


def test_engines_need_no_volume(tmp_path) -> None:
    assert made(cell(backend="trt", job={"engine_cache": str(tmp_path / "engines")}))


def items() -> list[dict[str, Any]]:
    on_gpu = made(cell(backend="trt", gpu="NVIDIA-H200"), **FULL)
    return [made(cell(), cell("k1"), **FULL), on_gpu, made(cell(), mounts=CLUSTER["mounts"])]


def lacks(given: Any, typed: Any, path: str = "") -> list[str]:
    """Return the paths of `given` that are not in `typed`."""
    if isinstance(given, dict):
        return [
            place
            for key, value in given.items()
            for place in (
                lacks(value, typed[key], f"{path}.{key}") if key in typed else [f"{path}.{key}"]
            )
        ]
    if isinstance(given, list):
        pairs = zip(given, typed, strict=True)
        return [place for one, other in pairs for place in lacks(one, other, f"{path}[]")]
    return []


def test_kubectl_knows_every_field(tmp_path) -> None:
    """Read by kubectl's types without a cluster, a field that they do not have is gone."""
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl")
    assert lacks({"a": {"b": [{"c": 1}]}}, {"a": {"b": [{}]}}) == [".a.b[].c"]
    for number, job in enumerate(items()):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(job))
        image = "cell=other"
        command = ["kubectl", "set", "image", "--local", "-f", str(file), image, "-o", "json"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert asked.returncode == 0, asked.stderr
        assert lacks(job, json.loads(asked.stdout)) == []


def test_kubeconform(tmp_path) -> None:
    if shutil.which("kubeconform") is None:
        pytest.skip("needs kubeconform")
    file = tmp_path / "night.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items()}))
    asked = subprocess.run(["kubeconform", "-strict", file], capture_output=True, check=False)
    assert asked.returncode == 0, asked.stdout


@pytest.mark.parametrize("version", ["1.28", "1.31"])
def test_the_schemas_of_kubernetes_allow_every_field(version) -> None:
    """From 1.28 on a Job counts failures per index."""
    if find_spec("kubernetes_validate") is None:
        missing("needs kubernetes-validate")
    from kubernetes_validate import ValidationError, validate

    for job in items():
        validate(job, version, strict=True)
    unknown = items()[0]
    unknown["spec"]["backoffLimitPerindex"] = 1
    with pytest.raises(ValidationError, match="backoffLimitPerindex"):
        validate(unknown, version, strict=True)
