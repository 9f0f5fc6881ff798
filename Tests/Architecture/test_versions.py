"""One version for all parts of a release, and a change log that names it. Standard library only."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
SEMANTIC = r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?"


def found(path, pattern):
    """What the pattern's group has matched, everywhere in the file."""
    return set(re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE))


def product():
    [version] = found("Sources/PosternSupport/Release.swift", r'static let version = "([^"]+)"')
    return version


def init_of_the_python_client():
    [path] = [path for path in (ROOT / "clients/python/src").glob("*/__init__.py") if "__version__" in path.read_text()]
    return path.relative_to(ROOT)


def test_all_parts_have_one_version():
    """Catches a part that was left behind: a client, a chart, an image's tag, a document that shows the version.

    The Debian package and the image's SBOM take theirs from the binary and from Release.swift."""
    chart = "deploy/helm/postern/Chart.yaml"
    parts = {
        "clients/python/pyproject.toml": found("clients/python/pyproject.toml", r'^version = "([^"]+)"'),
        "__version__ of the Python client": found(init_of_the_python_client(), r'^__version__ = "([^"]+)"'),
        "clients/node/package.json": {json.loads((ROOT / "clients/node/package.json").read_text(encoding="utf-8"))["version"]},
        "deploy/kubernetes/example": found("deploy/kubernetes/example/kustomization.yaml", r"newTag: (\S+)"),
        "deploy/kubernetes/sidecar": found("deploy/kubernetes/sidecar/sidecar.yaml", r"image: postern:(\S+)"),
        "deploy/kubernetes/shop.yaml": found("deploy/kubernetes/shop.yaml", r"image: \S+/postern:(\S+)"),
        f"{chart}: version": found(chart, r"^version: (\S+)"),
        f"{chart}: appVersion": found(chart, r'^appVersion: "?([^"\s]+)'),
        "proto-docs/openrpc.json": {json.loads((ROOT / "proto-docs/openrpc.json").read_text(encoding="utf-8"))["info"]["version"]},
        "proto-docs/deployment.md": found("proto-docs/deployment.md", r"postern_([\d.]+)_amd64\.deb"),
    }
    different = {part: versions for part, versions in parts.items() if versions != {product()}}
    assert not different, f"not {product()}: {different}"


def test_what_has_no_version_of_its_own_takes_it_from_there():
    """Catches a package or an image that gets a version of its own."""
    assert '--version | awk' in (ROOT / "deploy/debian/build.sh").read_text(encoding="utf-8")
    assert "PosternSupport/Release.swift" in (ROOT / "deploy/container/sbom.py").read_text(encoding="utf-8")


def test_the_version_is_semantic():
    assert re.fullmatch(SEMANTIC, product())


def problems(text):
    """Where a change log differs from Keep a Changelog 1.1.0."""
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    titles = [release.partition("\n")[0] for release in releases]
    found = [] if titles[:1] == ["Unreleased"] else ["it begins with Unreleased"]
    found += [f"no release and no date: {title}" for title in titles[1:] if not re.fullmatch(rf"{SEMANTIC} - \d{{4}}-\d\d-\d\d", title)]
    for title, release in zip(titles, releases):
        headings = re.findall(r"^### (.+)$", release, re.MULTILINE)
        if headings != [name for name in HEADINGS if name in headings]:
            found.append(f"{title}: {headings} are not headings of Keep a Changelog in their order")
    return found


def test_the_change_log_keeps_its_form():
    """Catches a heading of one's own, one that is there twice, and a release without a date."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not problems(text)
    released = re.findall(rf"^## ({SEMANTIC})", text, re.MULTILINE)
    assert not released or released[0] == product(), "the latest release is not the product's version"
    assert len(re.findall(r"^### ", text, re.MULTILINE)) >= 3


def test_the_check_of_the_change_log_sees_faults():
    release = "## Unreleased\n\n### Added\n\n### Fixed\n"
    assert not problems(f"# Log\n\n{release}\n## 1.0.0 - 2026-01-02\n\n### Security\n")
    for text in [release.replace("Added", "News"), release.replace("Added", "Security"), release.replace("Fixed", "Added"),
                 f"{release}\n## 1.0\n", "## 1.0.0 - 2026-01-02\n"]:
        assert problems(text), text
