"""The manifests: valid, as strict as Kubernetes knows, and the same whichever way they are applied."""
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest

from machines.files import DEPLOY, kubernetes_tool, postern

yaml = pytest.importorskip("yaml", reason="make test-deployment installs it")
kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="make test-deployment installs it")

KUBERNETES = DEPLOY / "kubernetes"
NATIVE_SIDECARS = ["1.29", "1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]


def manifests() -> Dict[str, Any]:
    documents = yaml.safe_load_all((KUBERNETES / "shop.yaml").read_text())
    return {document["kind"]: document for document in documents}


def pod() -> Dict[str, Any]:
    return manifests()["Deployment"]["spec"]["template"]["spec"]


def sidecar() -> Dict[str, Any]:
    return next(one for one in pod()["initContainers"] if one["name"] == "postern")


@pytest.mark.parametrize("version", NATIVE_SIDECARS)
def test_every_manifest_fits_the_schema_of_each_version_with_native_sidecars(version: str) -> None:
    for document in manifests().values():
        kubernetes_validate.validate(document, version, strict=True)


def test_the_schema_would_see_a_wrong_member() -> None:
    document = manifests()["Deployment"]
    document["spec"]["template"]["spec"]["initContainers"][0]["restartPolicies"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, NATIVE_SIDECARS[-1], strict=True)


def test_the_pod_whose_container_gets_a_descriptor() -> None:
    """Catches a manifest that Kubernetes rejects, and a container that can reach the sidecar's sockets by itself."""
    pod = yaml.safe_load((DEPLOY.parent / "examples/sandbox/pod.yaml").read_text())
    for version in NATIVE_SIDECARS:
        kubernetes_validate.validate(pod, version, strict=True)
    containers = {one["name"]: one for one in pod["spec"]["initContainers"] + pod["spec"]["containers"]}
    mounts = {name: {mount["name"] for mount in one["volumeMounts"]} for name, one in containers.items()}
    assert mounts["agent"] == {"agents"} and {"agents", "sidecar"} == mounts["app"]
    users = {one["securityContext"]["runAsUser"] for one in containers.values()}
    assert len(users) == 3 and all(one["securityContext"]["capabilities"] == {"drop": ["ALL"]} for one in containers.values())
    for program, arguments in (("maker.py", "app"), ("child.py", "agent")):
        assert program in containers[arguments]["command"] and containers[arguments]["command"][-1] == "/run/agents/give.sock"


def kustomized(directory: Path) -> List[Dict[str, Any]]:
    done = subprocess.run([kubernetes_tool("kubectl"), "kustomize", str(directory)], stdout=subprocess.PIPE, check=True)
    return list(yaml.safe_load_all(done.stdout))


def test_the_plain_manifests_are_what_kustomize_makes() -> None:
    made = kustomized(KUBERNETES / "example")
    assert made == list(yaml.safe_load_all((KUBERNETES / "shop.yaml").read_text())), "regenerate deploy/kubernetes/shop.yaml"


def test_policy_and_budget_select_the_pods() -> None:
    """Catches a network policy or a budget that is about no pod, or about other ports than the pod has."""
    labels = manifests()["Deployment"]["spec"]["template"]["metadata"]["labels"]
    policy, budget = manifests()["NetworkPolicy"]["spec"], manifests()["PodDisruptionBudget"]["spec"]
    for selector in [policy["podSelector"], budget["selector"]]:
        assert selector["matchLabels"].items() <= labels.items()
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == {53, 443}


def test_the_monitoring_component_finds_the_pods(directory: Path) -> None:
    """Catches a Service that selects no pod, and a ServiceMonitor that selects no Service, or another port."""
    shutil.copytree(KUBERNETES, directory / "kubernetes")
    file = directory / "kubernetes/example/kustomization.yaml"
    commented = "  #- ../monitoring\n"
    assert commented in file.read_text()
    file.write_text(file.read_text().replace(commented, "  - ../monitoring\n"))
    made = {one["kind"]: one for one in kustomized(directory / "kubernetes/example")}
    check_monitoring(made)
    assert made["Service"]["spec"]["ports"][0]["port"] == 9464


def test_the_assertion_component_needs_no_secret(directory: Path) -> None:
    """Catches a pod that waits for a Secret, a token that the application reads, and a mount that stays."""
    shutil.copytree(KUBERNETES, directory / "kubernetes")
    file = directory / "kubernetes/example/kustomization.yaml"
    commented = "  #- ../assertion\n"
    assert commented in file.read_text()
    file.write_text(file.read_text().replace(commented, "  - ../assertion\n"))
    made = {one["kind"]: one for one in kustomized(directory / "kubernetes/example")}
    for version in NATIVE_SIDECARS:
        kubernetes_validate.validate(made["Deployment"], version, strict=True)
    pod = made["Deployment"]["spec"]["template"]["spec"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert "postern-secrets" not in volumes
    [source] = volumes["postern-assertions"]["projected"]["sources"]
    assert source["serviceAccountToken"]["path"] == "corp"
    it = next(one for one in pod["initContainers"] if one["name"] == "postern")
    mounts = {one["name"]: one for one in it["volumeMounts"]}
    assert set(mounts) == set(volumes) and "subPath" not in mounts["postern-assertions"]
    assert all("assertions" not in one["name"] for one in pod["containers"][0]["volumeMounts"])


def check_monitoring(made: Dict[str, Any]) -> None:
    """From the pods over the Service to the ServiceMonitor."""
    pods = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
    service, monitor = made["Service"], made["ServiceMonitor"]
    assert service["spec"]["selector"].items() <= pods.items()
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    [port], [endpoint] = service["spec"]["ports"], monitor["spec"]["endpoints"]
    assert endpoint["port"] == port["name"] and endpoint["path"] == "/metrics"
    assert service["metadata"].get("namespace") == monitor["metadata"].get("namespace")


def test_it_is_a_native_sidecar_that_gates_the_application() -> None:
    it = sidecar()
    assert it["restartPolicy"] == "Always"
    assert pod()["initContainers"][0] == it
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"]:
        assert it[probe]["exec"]["command"][:2] == ["/usr/bin/postern", "probe"]
    assert "lifecycle" not in it
    # The sidecar's 30 s begin when the application has ended.
    assert pod()["terminationGracePeriodSeconds"] >= 60


def test_no_container_has_a_privilege() -> None:
    everything: List[Dict[str, Any]] = pod()["initContainers"] + pod()["containers"]
    for container in everything:
        context = container["securityContext"]
        assert context["runAsNonRoot"] is True and context["runAsUser"] > 0
        assert context["allowPrivilegeEscalation"] is False and not context.get("privileged")
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    for member in ["hostPID", "hostNetwork", "hostIPC", "shareProcessNamespace"]:
        assert member not in pod()


def test_the_socket_is_shared_in_memory_by_group_and_read_only() -> None:
    volumes = {volume["name"]: volume for volume in pod()["volumes"]}
    assert volumes["postern-socket"]["emptyDir"]["medium"] == "Memory"
    assert pod()["securityContext"]["fsGroup"] == 3000
    users = {one["securityContext"]["runAsUser"] for one in [sidecar(), pod()["containers"][0]]}
    assert len(users) == 2
    mounts = {mount["name"]: mount for mount in pod()["containers"][0]["volumeMounts"]}
    assert mounts["postern-socket"]["readOnly"] is True
    assert set(mounts) == {"postern-socket"}, "state, configuration and secrets are the sidecar's"


def test_the_sockets_path_is_the_same_for_everybody_and_its_directory_the_sidecars() -> None:
    listen = yaml.safe_load(manifests()["ConfigMap"]["data"]["postern.yaml"])["listen"]
    for container in [sidecar(), pod()["containers"][0]]:
        [mount] = [mount for mount in container["volumeMounts"] if mount["name"] == "postern-socket"]
        [path] = [variable["value"] for variable in container["env"] if variable["name"] == "POSTERN_SOCKET"]
        # Not the volume's own directory, which all may write.
        assert path == listen["path"] and Path(path).parent.parent == Path(mount["mountPath"])
    assert listen["directoryMode"] == "2770"


def test_secrets_are_files_for_owner_and_group() -> None:
    volumes = {volume["name"]: volume for volume in pod()["volumes"]}
    assert volumes["postern-secrets"]["secret"]["defaultMode"] == 0o440
    assert [variable["name"] for variable in sidecar()["env"]] == ["POSTERN_SOCKET"]


def test_the_configuration_of_the_example_is_valid(directory: Path) -> None:
    text = manifests()["ConfigMap"]["data"]["postern.yaml"].replace("/run/secrets/postern/", f"{directory}/")
    (directory / "postern.yaml").write_text(text)
    for name in ["shop", "store-key"]:
        (directory / name).write_text("ab" * 31 + "cd")
    done = subprocess.run(
        [postern(), "check-config", "--config", str(directory / "postern.yaml")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
