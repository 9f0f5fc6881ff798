"""Builds a program with the engine, as swift.md says, next to a package whose targets have the common names.

SwiftPM builds nothing with two targets of one name. test_modules.py keeps common names out of Package.swift; this is
the proof that such a program builds, with the modules of both.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Built into a directory of its own: the modules of the other package must not be found by builds of ours.
SCRATCH = ROOT / ".build" / "program"
NAMES = ["Crypto", "JSON", "Configuration", "Support", "Protocol"]

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "{name}",
  products: [{products}],
  dependencies: [{dependencies}],
  targets: [{targets}]
)
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_common_names(folder):
    """A package with a target of each common name, in one product."""
    quoted = ", ".join(f'"{name}"' for name in NAMES)
    write(folder / "Package.swift", MANIFEST.format(
        name="common", products=f'.library(name: "Common", targets: [{quoted}])', dependencies="",
        targets=", ".join(f'.target(name: "{name}")' for name in NAMES)))
    for name in NAMES:
        write(folder / f"Sources/{name}/{name}.swift", f'public let name{name} = "{name}"\n')


def write_program(folder):
    """A program that uses a type of the engine, and something of each target of the other package."""
    write(folder / "Package.swift", MANIFEST.format(
        name="program", products="",
        dependencies=f'.package(name: "postern", path: "{ROOT}"), .package(path: "../common")',
        targets='.executableTarget(name: "program", dependencies: [.product(name: "AuthEngine", package: "postern"), '
        '.product(name: "CurlTransport", package: "postern"), .product(name: "Common", package: "common")])'))
    imports = "".join(f"import {name}\n" for name in ["AuthEngine", "CurlTransport", "PosternJSON", *NAMES])
    names = ", ".join(f"name{name}" for name in NAMES)
    write(folder / "Sources/program/main.swift", f"""{imports}
let request = ResourceRequestFactory.makeResourceRequest(path: "orders", parameters: ["limit": 10])
let transport = try CurlTransport()
transport.close()
print(request.path, [{names}].joined(separator: " "))
""")


def test_a_program_has_the_engine_and_targets_with_common_names(tmp_path):
    write_common_names(tmp_path / "common")
    write_program(tmp_path / "program")
    command = ["swift", "run", "--quiet", "--package-path", tmp_path / "program", "--scratch-path", SCRATCH, "program"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert done.stdout == f"orders {' '.join(NAMES)}\n"
