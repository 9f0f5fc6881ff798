#!/usr/bin/env python3
"""Writes the SBOM of an assembled image (SPDX 2.3, JSON): sbom.py ROOT SOURCE.

Packages are those of dpkg's data in the image and the Swift packages of SOURCE/Package.resolved, which are linked
into the program; files are all files of ROOT. SOURCE_DATE_EPOCH sets the time.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

root, source = Path(sys.argv[1]), Path(sys.argv[2])
NAMESPACE = "https://postern.invalid/spdx"


def identifier(kind: str, name: str) -> str:
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name: str, version: str, location: str, reference: str, **more: Any) -> Dict[str, Any]:
    return {
        "SPDXID": identifier("Package", name), "name": name, "versionInfo": version, "downloadLocation": location,
        "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": reference}
        ],
        **more,
    }


def debian_packages() -> List[Dict[str, Any]]:
    found = []
    for path in sorted((root / "var/lib/dpkg/status.d").iterdir()):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", path.read_text(), re.MULTILINE))
        origin, _, version = fields.get("Source", "").partition(" ")
        version = version.strip("()") or fields["Version"]
        found.append(
            package(
                fields["Package"], fields["Version"], "https://deb.debian.org/debian",
                f"pkg:deb/debian/{fields['Package']}@{fields['Version']}?arch={fields['Architecture']}",
                supplier=f"Organization: {fields['Maintainer'].split(' <')[0]}",
                sourceInfo=f"Debian source package {origin or fields['Package']} {version}",
            )
        )
    return found


# Other packages that Package.resolved names are those of tests and of the playground.
LINKED = ("swift-argument-parser", "swift-log")


def swift_packages() -> List[Dict[str, Any]]:
    resolved = json.loads((source / "Package.resolved").read_text())
    found = []
    for pin in resolved["pins"]:
        if pin["identity"] not in LINKED:
            continue
        location = re.sub(r"\.git$", "", pin["location"])
        version = pin["state"]["version"]
        found.append(
            package(
                pin["identity"], version, f"git+{location}@{pin['state']['revision']}",
                f"pkg:swift/{location.split('://')[1]}@{version}", licenseDeclared="Apache-2.0",
            )
        )
    compiler = subprocess.run(["swift", "--version"], stdout=subprocess.PIPE, check=True, stderr=subprocess.DEVNULL)
    version = re.search(r"Swift version ([\d.]+)", compiler.stdout.decode())
    assert version, "swift --version prints no version"
    found.append(
        package(
            "swift-runtime", version.group(1), "https://github.com/swiftlang/swift",
            f"pkg:github/swiftlang/swift@swift-{version.group(1)}-RELEASE", licenseDeclared="Apache-2.0",
        )
    )
    return found


def files() -> List[Dict[str, Any]]:
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.name == "postern.spdx.json":
            continue
        content, name = path.read_bytes(), "./" + str(path.relative_to(root))
        found.append(
            {
                "SPDXID": identifier("File", hashlib.sha256(name.encode()).hexdigest()[:16]), "fileName": name,
                "checksums": [
                    {"algorithm": algorithm.upper(), "checksumValue": hashlib.new(algorithm, content).hexdigest()}
                    for algorithm in ("sha1", "sha256")
                ],
                "licenseConcluded": "NOASSERTION", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
            }
        )
    return found


def relationship(subject: str, kind: str, other: str) -> Dict[str, str]:
    return {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": other}


version = re.search(r'static let version = "([^"]+)"', (source / "Sources/PosternSupport/Release.swift").read_text())
assert version, "Release.swift contains no version"
postern = package(
    "postern", version.group(1), "NOASSERTION", f"pkg:generic/postern@{version.group(1)}", licenseDeclared="Apache-2.0",
    primaryPackagePurpose="APPLICATION",
)
image = {
    **package("postern-image", version.group(1), "NOASSERTION", f"pkg:oci/postern@{version.group(1)}"),
    "filesAnalyzed": True, "licenseInfoFromFiles": ["NOASSERTION"], "primaryPackagePurpose": "CONTAINER",
}
contents, linked, shared = files(), swift_packages(), debian_packages()
digest = hashlib.sha256("".join(file["checksums"][1]["checksumValue"] for file in contents).encode()).hexdigest()
sums = sorted(file["checksums"][0]["checksumValue"] for file in contents)
image["packageVerificationCode"] = {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()}
moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
json.dump(
    {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"postern-{version.group(1)}", "documentNamespace": f"{NAMESPACE}/postern-{version.group(1)}-{digest[:32]}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment), "creators": ["Tool: postern-sbom", "Organization: Postern"]
        },
        "packages": [image, postern, *linked, *shared],
        "files": contents,
        "relationships": [relationship("SPDXRef-DOCUMENT", "DESCRIBES", image["SPDXID"])]
        + [relationship(image["SPDXID"], "CONTAINS", one["SPDXID"]) for one in [postern, *shared]]
        + [relationship(one["SPDXID"], "STATIC_LINK", postern["SPDXID"]) for one in linked]
        + [relationship(one["SPDXID"], "RUNTIME_DEPENDENCY_OF", postern["SPDXID"]) for one in shared]
        + [relationship(image["SPDXID"], "CONTAINS", file["SPDXID"]) for file in contents],
    },
    sys.stdout, separators=(",", ":"), sort_keys=True)
sys.stdout.write("\n")
