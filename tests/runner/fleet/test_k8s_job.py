"""The manifest of a cell's Job."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginescope.core.errors import UsageError
from enginescope.records.run.job import Subject
from enginescope.runner.fleet.cell_task import REMOTE_CELL
from enginescope.runner.fleet.k8s_job import Claim, Cluster, job_of
from tests.runner.fleet.cells import cell

CLUSTER = Cluster(image="me/es:1", claims=(Claim(name="suites", folder="/mnt/suites"),))
FILES = (Path("/mnt/suites/s/tasks/k0"), Path("/mnt/suites/s/returned/k0"))


def made(one, suite: str = "night", cluster: Cluster = CLUSTER):
    return job_of(one, suite, *FILES, cluster)


def pod(job):
    return job["spec"]["template"]["spec"]


def test_a_job() -> None:
    job = made(cell())
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert job["metadata"]["name"] == "es-night-k0"
    assert job["spec"]["backoffLimit"] == 1
    (container,) = pod(job)["containers"]
    assert container["image"] == "me/es:1"
    assert container["command"] == ["python3", "-m", REMOTE_CELL, *map(str, FILES)]
    assert container["volumeMounts"] == [{"name": "v0", "mountPath": "/mnt/suites"}]
    assert pod(job)["volumes"] == [{"name": "v0", "persistentVolumeClaim": {"claimName": "suites"}}]
    assert pod(job)["restartPolicy"] == "Never"
    assert pod(job)["activeDeadlineSeconds"] == 720
    assert "activeDeadlineSeconds" not in job["spec"]
    assert pod(job)["automountServiceAccountToken"] is False
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels == job["metadata"]["labels"]


def test_a_gpu_and_its_kind() -> None:
    assert "resources" not in pod(made(cell()))["containers"][0]
    asked = pod(made(cell(backend="trt", gpu="NVIDIA-H200")))
    assert asked["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "1"}}
    assert asked["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H200"}
    assert "nodeSelector" not in pod(made(cell(backend="trt")))
    own = Cluster(image="i", claims=CLUSTER.claims, gpu_label="gpu-kind=nvidia-{gpu}")
    assert pod(made(cell(gpu="h200"), cluster=own))["nodeSelector"] == {"gpu-kind": "nvidia-h200"}


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
    job = made(cell("0123456789abcdef"), suite="My_Suite " + "x" * 80)
    name = job["metadata"]["name"]
    assert len(name) <= 63
    assert name.endswith("-0123456789abcdef")
    assert name.replace("-", "").isalnum()
    assert name == name.lower()
    spaced = Cluster(image="i", claims=CLUSTER.claims, namespace="ml")
    assert made(cell(), cluster=spaced)["metadata"]["namespace"] == "ml"


def test_every_file_is_on_a_volume(tmp_path) -> None:
    model = tmp_path / "net.onnx"
    model.write_bytes(b"onnx")
    one = cell(subject=Subject(name="net", kind="onnx", path=str(model)))
    with pytest.raises(UsageError, match=f"{tmp_path} is on no volume"):
        made(one)
    more = Claim(name="models", folder=str(tmp_path))
    found = made(one, cluster=Cluster(image="i", claims=(*CLUSTER.claims, more)))
    assert len(pod(found)["volumes"]) == 2
