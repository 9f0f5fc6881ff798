"""The Helm chart, as helm renders it: valid, as strict as the manifests, with a configuration that is accepted."""
from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest

from machines.files import DEPLOY, kubernetes_tool, postern
from test_kubernetes import NATIVE_SIDECARS, check_monitoring, manifests

yaml = pytest.importorskip("yaml", reason="make test-deployment installs it")
kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="make test-deployment installs it")

CHART = DEPLOY / "helm" / "postern"
VALUES: Dict[str, Any] = {
    "configuration": {
        "issuers": {
            "corp": {"issuer": "https://idp.example.com", "clientId": "shop", "clientSecretFile": "/run/secrets/postern/shop"},
        },
        "resources": {"billing": {"baseUrl": "https://api.example.com/billing/", "issuer": "corp", "auth": "clientCredentials"}},
        "peers": [{"uid": 20001, "methods": ["fetchResource", "getInfo"], "resources": ["billing"]}],
    },
}
#: No secret in the pod.
ASSERTION: Dict[str, Any] = {
    "configuration": {
        **VALUES["configuration"],
        "issuers": {
            "corp": {
                "issuer": "https://idp.example.com", "clientId": "shop", "clientAuth": "client_assertion",
                "clientAssertion": {"file": "/var/run/secrets/tokens/corp"},
            },
        },
    },
    "secretName": "", "serviceAccountName": "shop", "assertions": {"corp": {"audience": "https://idp.example.com"}},
}
METRICS = {**VALUES, "metrics": {"enabled": True, "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}}


def helm(*arguments: str, values: Any = None, fails: bool = False) -> str:
    command = [kubernetes_tool("helm"), *arguments] + (["--values", "-"] if values is not None else [])
    text = json.dumps(values) if values is not None else ""
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def rendered(values: Any, chart: Path = CHART) -> Dict[str, Any]:
    output = helm("template", "shop", str(chart), "--namespace", "shop", "--kube-version", "1.29.0", values=values)
    documents = [one for one in yaml.safe_load_all(output) if one]
    kinds = [one["kind"] for one in documents]
    assert len(set(kinds)) == len(kinds), kinds
    return dict(zip(kinds, documents))


def containers(made: Dict[str, Any]) -> List[Dict[str, Any]]:
    pod = made["Deployment"]["spec"]["template"]["spec"]
    return pod["initContainers"] + pod["containers"]


def test_it_passes_lint() -> None:
    helm("lint", "--strict", str(CHART), values=METRICS)


@pytest.mark.parametrize("version", NATIVE_SIDECARS)
@pytest.mark.parametrize("values", [VALUES, METRICS, ASSERTION], ids=["plain", "metrics", "assertion"])
def test_what_it_renders_fits_the_schema_of_each_version(values: Any, version: str) -> None:
    for kind, document in rendered(values).items():
        if kind != "ServiceMonitor":  # the Prometheus Operator's own kind
            kubernetes_validate.validate(document, version, strict=True)


def test_the_sidecar_is_that_of_the_manifests() -> None:
    """Catches a right, a probe, a volume or a mount that chart and manifests have differently."""
    made, plain = rendered(VALUES), manifests()
    ours, theirs = (one["Deployment"]["spec"]["template"]["spec"] for one in (made, plain))
    ours["initContainers"][0].pop("imagePullPolicy")
    assert ours["initContainers"] == theirs["initContainers"]
    names = {"postern-configuration"}  # the name of the ConfigMap
    assert [one for one in ours["volumes"] if one["name"] not in names] == [
        one for one in theirs["volumes"] if one["name"] not in names]
    for member in ["securityContext", "terminationGracePeriodSeconds", "automountServiceAccountToken"]:
        assert ours[member] == theirs[member], member
    application, shop = ours["containers"][0], theirs["containers"][0]
    for member in ["securityContext", "volumeMounts", "env"]:
        # `privileged: false` is the default.
        assert {"privileged": False, **application[member]} == {"privileged": False, **shop[member]} if isinstance(
            shop[member], dict) else application[member] == shop[member], member


def test_assertions_need_no_secret_and_are_the_sidecars_alone() -> None:
    """Catches a token that the application can read, and one that the configuration does not find."""
    made = rendered({**ASSERTION, "assertions": {"corp": {"audience": "a b", "expirationSeconds": 600}}})
    pod = made["Deployment"]["spec"]["template"]["spec"]
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert "postern-secrets" not in volumes and pod["serviceAccountName"] == "shop"
    assert pod["automountServiceAccountToken"] is False
    source = {"serviceAccountToken": {"audience": "a b", "expirationSeconds": 600, "path": "corp"}}
    assert volumes["postern-assertions"]["projected"]["sources"] == [source]
    mounts = {one["name"]: one for one in pod["initContainers"][0]["volumeMounts"]}
    assert set(mounts) == set(volumes)
    assert mounts["postern-assertions"] == {
        "name": "postern-assertions", "mountPath": "/var/run/secrets/tokens", "readOnly": True}
    assert [one["name"] for one in pod["containers"][0]["volumeMounts"]] == ["postern-socket"]
    assert "needs no Secret" in helm("install", "shop", str(CHART), "--dry-run=client", values=ASSERTION)


def test_its_names_fit_together() -> None:
    """Catches a ConfigMap that is mounted by another name, and a policy or a budget that is about no pod."""
    made = rendered(METRICS)
    pod = made["Deployment"]["spec"]["template"]
    volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
    assert volumes["postern-configuration"]["configMap"]["name"] == made["ConfigMap"]["metadata"]["name"]
    labels = pod["metadata"]["labels"]
    for selector in [made["NetworkPolicy"]["spec"]["podSelector"], made["PodDisruptionBudget"]["spec"]["selector"],
                     made["Deployment"]["spec"]["selector"]]:
        assert selector["matchLabels"].items() <= labels.items()
    check_monitoring(made)
    assert made["ServiceMonitor"]["metadata"]["labels"]["release"] == "prometheus"
    metrics = made["Service"]["spec"]["ports"][0]
    assert {"name": metrics["targetPort"], "containerPort": metrics["port"]} in containers(made)[0]["ports"]


@pytest.mark.parametrize("namespaces", [None, []], ids=["null", "empty"])
def test_metrics_without_a_namespace_are_for_nobody(namespaces: Any) -> None:
    """Catches a rule that Kubernetes rejects (a selector without values), and one that admits every namespace."""
    values = {**METRICS, "networkPolicy": {"metricsNamespaces": namespaces}}
    for one, ports in [(values, [8080]), ({**values, "application": {"port": 0}}, [])]:
        policy = rendered(one)["NetworkPolicy"]
        kubernetes_validate.validate(policy, NATIVE_SIDECARS[-1], strict=True)
        assert [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]] == ports
    assert [9464] in [[port["port"] for port in rule["ports"]] for rule in rendered(METRICS)["NetworkPolicy"]["spec"]["ingress"]]


def test_parts_can_be_left_out() -> None:
    one = {**VALUES, "replicas": 1, "networkPolicy": {"enabled": False}}
    assert set(rendered(one)) == {"ConfigMap", "Deployment"}
    assert set(rendered({**METRICS, "application": {"enabled": False}})) == {"ConfigMap", "NetworkPolicy", "Service", "ServiceMonitor"}


@pytest.mark.parametrize("values", [VALUES, METRICS, ASSERTION], ids=["plain", "metrics", "assertion"])
def test_its_configuration_is_valid(directory: Path, values: Any) -> None:
    text = rendered(values)["ConfigMap"]["data"]["postern.yaml"]
    read = yaml.safe_load(text)
    assert [rule["uid"] for rule in read["peers"]] == [10001, 20001]
    assert ("http" in read) is ("metrics" in values)
    assert (read["store"] == {"kind": "memory"}) is ("assertions" in values)
    (directory / "postern.yaml").write_text(text.replace("/run/secrets/postern/", f"{directory}/"))
    for name in ["shop", "store-key"]:
        (directory / name).write_text("ab" * 31 + "cd")
    command = [postern(), "check-config", "--config", str(directory / "postern.yaml")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()


def test_a_changed_configuration_restarts_the_pods() -> None:
    def annotations(values: Any) -> Any:
        return rendered(values)["Deployment"]["spec"]["template"]["metadata"]["annotations"]

    changed = {**VALUES, "configuration": {**VALUES["configuration"], "log": {"level": "debug"}}}
    assert annotations(VALUES) == annotations(VALUES) != annotations(changed)


@pytest.mark.parametrize("wrong", [
    {"aplication": {}}, {"application": {"uid": 10001}}, {"application": {"uid": 0}}, {"metrics": {"port": 80}},
    {"enabled": "no"}, {"assertions": {"corp": {}}}, {"assertions": {"../corp": {"audience": "a"}}},
    {"assertions": {"corp": {"audience": "a", "expirationSeconds": 60}}}, {"networkPolicy": {"metricsNamespaces": [""]}},
])
def test_wrong_values_are_rejected(wrong: Any) -> None:
    """Catches a misspelt key that does nothing, and an application with the uid of the sidecar, or root's."""
    assert "values don't meet the specifications of the schema" in helm(
        "template", "shop", str(CHART), values={**VALUES, **wrong}, fails=True)


def chart_with_the_dependency(directory: Path, template: str) -> Path:
    """A chart whose only template is this, and whose dependency a value switches off."""
    chart = directory / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "charts").mkdir()
    (chart / "charts" / "postern").symlink_to(CHART)
    dependency = {"name": "postern", "version": "*", "condition": "postern.enabled"}
    (chart / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": "shop", "version": "1.0.0", "dependencies": [dependency]}))
    (chart / "templates" / "deployment.yaml").write_text(template)
    return chart


def template_of_the_page() -> str:
    """What deployment.md shows for a chart of one's own."""
    page = (DEPLOY.parent / "proto-docs" / "deployment.md").read_text(encoding="utf-8")
    [template] = [block.split("```")[0] for block in page.split("```yaml\n")[1:] if "postern.container" in block.split("```")[0]]
    return template


def test_another_chart_includes_the_parts(directory: Path) -> None:
    """Catches templates that work only in their own chart, and an example less strict than the chart's pod."""
    chart = chart_with_the_dependency(directory, template_of_the_page())
    values = {**VALUES, "application": {"enabled": False}}
    made = rendered({"postern": {**values, "enabled": True}}, chart)
    pod = made["Deployment"]["spec"]["template"]
    own = rendered(VALUES)["Deployment"]["spec"]["template"]
    assert pod["metadata"]["annotations"] == own["metadata"]["annotations"]
    for member in ["automountServiceAccountToken", "securityContext", "terminationGracePeriodSeconds"]:
        assert pod["spec"][member] == own["spec"][member], member
    assert pod["spec"]["containers"][0]["securityContext"] == own["spec"]["containers"][0]["securityContext"]
    assert pod["spec"]["initContainers"][0]["name"] == "postern"
    assert made["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    kubernetes_validate.validate(made["Deployment"], NATIVE_SIDECARS[-1], strict=True)


def test_a_chart_can_switch_the_dependency_off(directory: Path) -> None:
    """Catches a schema that rejects the usual `condition:`, and a page whose template fails without the dependency."""
    template = "{{- if .Values.postern.enabled }}\n" + template_of_the_page() + "{{- end }}\n"
    chart = chart_with_the_dependency(directory, template)
    values = {**VALUES, "application": {"enabled": False}}
    assert set(rendered({"postern": {**values, "enabled": False}}, chart)) == set()
    assert set(rendered({"postern": {**values, "enabled": True}}, chart)) == {"ConfigMap", "Deployment", "NetworkPolicy"}
