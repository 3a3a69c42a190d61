from enginescope.probe.host import (
    container_kind,
    cpu_model,
    probe_host,
    usable_cores,
    usable_memory_bytes,
)


def test_this_machine_is_described() -> None:
    host = probe_host()
    assert host.cores_usable is not None
    assert host.cores_usable >= 1
    assert host.memory_bytes is not None
    assert host.memory_bytes > 1 << 28


def test_cpu_model_from_cpuinfo(tmp_path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor : 0\nmodel name\t: Example 9000 @ 3.00GHz\n")
    assert cpu_model(file) == "Example 9000 @ 3.00GHz"


def test_limits_of_a_container(tmp_path) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    assert usable_cores(tmp_path) == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert usable_cores(tmp_path) == usable_cores(tmp_path / "absent")
    (tmp_path / "memory.max").write_text("1048576\n")
    assert usable_memory_bytes(tmp_path) == 1 << 20
    (tmp_path / "memory.max").write_text("max\n")
    assert usable_memory_bytes(tmp_path) > 1 << 20


def test_container_kind(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.delenv("container", raising=False)
    assert container_kind(tmp_path) is None
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.containerenv").touch()
    assert container_kind(tmp_path) == "podman"
    (tmp_path / ".dockerenv").touch()
    assert container_kind(tmp_path) == "docker"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert container_kind(tmp_path) == "kubernetes"
