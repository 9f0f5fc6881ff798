"""`postern check-config` accepts every configuration in the documents.

A partial block is completed, and the files that it names are created. A YAML block that is no configuration of the
sidecar is below `<!-- not run: reason -->`.
"""

import re
import subprocess

import pytest

import stage as stages

from harness import binaries  # noqa: E402  (stage makes the harness importable)

PAGES = [stages.ROOT / "README.md", *sorted((stages.ROOT / "proto-docs").rglob("*.md"))]
BLOCK = re.compile(r"^(<!-- not run: [^\n]+ -->\n+)?```ya?ml\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ISSUER = "{ issuer: https://idp.example.com, clientId: shop, clientSecret: s }"
RESOURCE = "{ baseUrl: https://api.example.com/billing/, auth: none }"
PROVIDER = "{ kind: authzen, baseUrl: https://pdp.example.com, resourceType: channel, action: view, %s }"


def blocks():
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if not match.group(1):
                line = text.count("\n", 0, match.start()) + 1
                found.append(pytest.param(match.group(2), id=f"{page.relative_to(stages.ROOT)}:{line}"))
    return found


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """Files by the keys that name them: a key of an elliptic curve, its certificate, and a text for the others."""
    directory = tmp_path_factory.mktemp("material")
    key, certificate, secret, exact = (directory / name for name in ("key.pem", "certificate.pem", "secret", "key"))
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
               "-subj", "/CN=shop", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    secret.write_text("Authorization: Basic c2VjcmV0\n")
    exact.write_bytes(bytes(range(32)))
    device = directory / "device-id"
    device.write_text("device-1\n")
    name = directory / "name"
    name.write_text("postern\n")
    public = directory / "public.pem"
    subprocess.run(["openssl", "pkey", "-in", str(key), "-pubout", "-out", str(public)], check=True, timeout=60)
    for file in directory.iterdir():
        file.chmod(0o600)
    special = {"clientKeyFile": key, "decryptionKeyFile": key, "recipientKeyFile": public, "clientCertificateFile": certificate,
               "caFile": certificate, "deviceIdFile": device, "usernameFile": name, "keyFile": exact, "path": directory / "audit.log"}
    return lambda name: special.get(name, secret)


def completed(block, material):
    """The block with what it leaves out, and files that are there."""
    def file(match):
        # The gateway's key is a text, the store's 32 bytes.
        key = "textFile" if match.group(2).endswith("/gateway-key") else match.group(1)
        return f"{match.group(1)}: {material(key)}"

    text = re.sub(r"\b(\w*File): (/[^\s,}]+)", file, block)
    text = re.sub(r"^audit:\n  path: \S+", f"audit:\n  path: {material('path')}", text)
    text = text.replace("group: app", "group: root")  # which every machine has
    if text.startswith("degradation:"):
        text = "preauthorization:\n  channels: " + PROVIDER % text.strip() + "\n"
    if "  billing:" in text and "baseUrl" not in text:
        text = text.replace("  billing:\n", "  billing:\n    baseUrl: https://api.example.com/billing/\n    auth: user\n    issuer: corp\n")
    if not re.search(r"^issuers:", text, re.MULTILINE):
        text += f"issuers:\n  corp: {ISSUER}\n"
    if not re.search(r"^resources:", text, re.MULTILINE):
        text += f"resources:\n  billing: {RESOURCE}\n"
    return text


@pytest.mark.parametrize("block", blocks())
def test_a_configuration_is_one(block, material, tmp_path):
    """Catches a key that is misspelt, gone or elsewhere, and a value that is refused."""
    file = tmp_path / "postern.yaml"
    text = completed(block, material)
    file.write_text(text)
    command = [binaries.postern(), "check-config", "--config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{done.stderr}\n{text}"


def test_the_scan_finds_them():
    assert len(blocks()) >= 18
    assert BLOCK.search("<!-- not run: why -->\n```yaml\nx: 1\n```\n").group(1)
