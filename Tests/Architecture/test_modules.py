"""The structure of the package: module edges as proto-docs/modules.md has them, confined imports, build settings.

Run by itself: python3 -m pytest -q Tests/Architecture. Standard library only.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES_PAGE = ROOT / "proto-docs" / "modules.md"
PLAYGROUND = ROOT / "Tests" / "Playground"

# A module name (or a prefix ending in *) and the only modules under Sources/ that may import it.
CONFINED = {
    "CPosternCurl": {"CurlTransport"},
    "CPosternExpat": {"OAuthClient"},
    "CPosternHiredis": {"SessionStore"},
    "CPosternJansson": {"PosternJSON"},
    "CPosternOpenSSL": {"PosternCrypto"},
    "CPosternLinux": {"CurlTransport", "LocalServer", "PosternRuntime", "PosternSupport", "postern"},
    "CPosternSQLite": {"SessionStore"},
    "CPosternTLS": {"CurlTransport"},
    "CPosternYAML": {"PosternConfiguration"},
    "CPosternZlib": {"CurlTransport"},
    "NIO*": set(),
}

# The engine, bottom-up. A module imports only modules to the left of it.
ENGINE = [
    "OAuthClient", "SessionRecords", "TokenValidation", "Sessions", "StepUp", "ResourceAccess", "Entitlements", "AdobePass",
    "SDKCompatibility", "AuthEngine",
]

# In Tests/, not in Sources/: no product may reach them.
DEVELOPMENT_ONLY = {"EngineTestSupport", "PosternHardeningProbe", "PosternTestSupport"}

# What only tests may import. Tests of the engine's modules have an engine over a scripted transport from the first.
TEST_SUPPORT = {"EngineTestSupport", "PosternTestSupport"}

# Packages that no product has: what a module does is compared with what they do.
ORACLES = {"LocalServerTests": {"NIOCore", "NIOEmbedded", "NIOHTTP1"}}

# For programs that use Foundation anyway, and no part of the sidecar either.
FOR_FOUNDATION = {"PosternURLLoading"}

# Files of product modules that may import Foundation, each with its reason: none so far. It costs size and start-up
# time, and its JSON, base64 and URL rules are laxer than ours.
FOUNDATION_ALLOWED: dict[str, str] = {}

SETTINGS = [
    ("enableUpcomingFeature", "ExistentialAny"),
    ("enableUpcomingFeature", "InternalImportsByDefault"),
    ("enableUpcomingFeature", "MemberImportVisibility"),
    ("enableUpcomingFeature", "NonisolatedNonsendingByDefault"),
    ("treatAllWarnings", "error"),
]
# C code: Swift settings mean nothing to it.
WITHOUT_SETTINGS = {"CPosternHiredis", "CPosternLinux", "CPosternTLS"}


# MARK: the package


def dump_package(folder, scratch):
    """A package as SwiftPM sees it. A scratch directory of its own: no waiting for a build that is running."""
    command = ["swift", "package", "--scratch-path", str(scratch), "dump-package"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"swift package dump-package failed:\n{done.stderr}"
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    """The root package, the product."""
    return dump_package(ROOT, tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="session")
def playground(tmp_path_factory):
    """The playground's package."""
    return dump_package(PLAYGROUND, tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="session")
def targets(package):
    """name -> (type, our modules, external products)"""
    names = {target["name"] for target in package["targets"]}
    result = {}
    for target in package["targets"]:
        ours, external = set(), set()
        for dependency in target["dependencies"]:
            ((kind, values),) = dependency.items()
            assert kind in {"byName", "target", "product"}, f"{target['name']}: a dependency of the unknown kind {kind}"
            # A name that is no target of this package is a product of another one, whatever it is declared as.
            (ours if values[0] in names and kind != "product" else external).add(values[0])
        result[target["name"]] = (target["type"], ours, external)
    return result


@pytest.fixture(scope="session")
def table():
    """name -> (our modules, external products), in the order of the page."""
    rows = {}
    for line in MODULES_PAGE.read_text(encoding="utf-8").splitlines():
        if not re.match(r"\| `", line):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        assert len(cells) == 3, f"modules.md: three cells are expected: {line}"
        names = [re.findall(r"`([^`]+)`", cell) for cell in cells]
        for cell, found in zip(cells[1:], names[1:]):
            assert cell == "–" or cell == " ".join(f"`{name}`" for name in found), f"modules.md: cannot read {cell!r}"
            assert found == sorted(found, key=str.lower), f"modules.md: names are sorted in a cell: {cell}"
        assert len(names[0]) == 1 and names[0][0] not in rows, f"modules.md: one row for each module: {line}"
        rows[names[0][0]] = (set(names[1]), set(names[2]))
    assert rows, "modules.md holds no table"
    return rows


def reach(targets, name):
    """Everything `name` imports, directly or through others, and itself: (our modules, external products)."""
    ours, external, open_names = set(), set(), [name]
    while open_names:
        current = open_names.pop()
        if current in ours:
            continue
        ours.add(current)
        _, direct, products = targets[current]
        external |= products
        open_names += direct
    return ours, external


def test_table_and_manifest_name_the_same_modules(targets, table):
    modules = {name for name, (kind, _, _) in targets.items() if kind != "test"}
    assert modules - table.keys() == set(), "in Package.swift but not in proto-docs/modules.md"
    assert table.keys() - modules == set(), "in proto-docs/modules.md but not in Package.swift"


def test_table_and_manifest_name_the_same_edges(targets, table):
    differences = []
    for name, (kind, ours, external) in targets.items():
        if kind == "test" or name not in table:
            continue
        declared, allowed = ours | external, table[name][0] | table[name][1]
        differences += [f"{name} -> {edge}: not allowed by modules.md" for edge in sorted(declared - allowed)]
        differences += [f"{name} -> {edge}: in modules.md, not in Package.swift" for edge in sorted(allowed - declared)]
        in_wrong_cell = (ours & table[name][1]) | (external & table[name][0])
        differences += [f"{name} -> {edge}: in the wrong column of modules.md" for edge in sorted(in_wrong_cell)]
    assert not differences, "\n".join(differences)


# Targets of packages that a program is likely to use too (swift-crypto, Yams, JSONRPC, GRDB ...), and common words.
NAMES_OF_OTHERS = set(
    "Audit CCurl CExpat CHiredis CJansson CLinux COpenSSL CSQLite CTLS CYAML CZlib CYaml CZlib Configuration Crypto Examples "
    "Hardening JSON JSONRPC Logging Metrics Networking Protocol Security Support Telemetry TestSupport Tracing Utilities "
    "XML Yams".split())


def test_no_target_has_a_name_that_other_packages_use(targets):
    """Catches a target that a program cannot have: SwiftPM builds nothing with two targets of one name."""
    assert not {name for name, (kind, _, _) in targets.items() if kind != "test"} & NAMES_OF_OTHERS


def test_table_stands_bottom_up(table):
    """A row that imports one below it would be a cycle, or a layer in the wrong place."""
    seen = set()
    for name, (ours, _) in table.items():
        assert ours <= seen, f"modules.md: {name} imports {sorted(ours - seen)}, which do not stand above it"
        seen.add(name)


def layers(page):
    """(layer, modules) of each line of architecture.md's diagram. A line without a layer belongs to the one above."""
    [diagram] = re.findall(r"^## Layers\n.*?^```\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    found = []
    for line in diagram.splitlines():
        name, modules = re.fullmatch(r"(?:layer (\w)|) +(.+)", line).groups()
        found.append((name or found[-1][0], modules.split()))
    return found


def test_the_layers_of_the_diagram_are_read():
    """Guards the guard."""
    assert layers("# A\n\n## Layers\n\nText.\n\n```\nlayer 1   A   B\n          C\nlayer C   D\n```\n") == [
        ("1", ["A", "B"]), ("1", ["C"]), ("C", ["D"])]


def test_the_diagram_has_every_module_once_and_imports_go_down(targets):
    """Catches a module that the diagram of architecture.md lacks, and an import from the same line or above."""
    diagram = layers((ROOT / "proto-docs" / "architecture.md").read_text(encoding="utf-8"))
    shown = [name for _, line in diagram for name in line]
    product = {name for name, (kind, _, _) in targets.items() if kind != "test"} - DEVELOPMENT_ONLY
    assert sorted(shown) == sorted(product), "architecture.md: each module of the product is in the diagram once"
    height = {name: -number for number, (_, line) in enumerate(diagram) for name in line}
    up = [
        f"{name} -> {edge}" for name in shown for edge in sorted(targets[name][1])
        if edge in height and height[edge] >= height[name]
    ]
    assert not up, "architecture.md: these do not import a module of a lower line: " + ", ".join(up)


def test_the_pages_agree_about_the_layers(targets):
    """Catches a module that modules.md describes in another layer than the diagram of architecture.md shows."""
    diagram = layers((ROOT / "proto-docs" / "architecture.md").read_text(encoding="utf-8"))
    shown = {name: layer for layer, line in diagram for name in line}
    described = {}
    page = MODULES_PAGE.read_text(encoding="utf-8")
    for layer, text in re.findall(r"^## Layer (\w).*?\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL):
        described.update(dict.fromkeys(re.findall(r"\*\*`(\w+)`\*\*", text), layer))
    assert described == shown


def test_the_manifest_declares_targets_bottom_up(targets):
    """Catches a target before one that it depends on: Package.swift claims the order."""
    seen = set()
    for name, (kind, ours, _) in targets.items():
        if kind != "test":
            assert ours <= seen, f"Package.swift: {name} is declared before {sorted(ours - seen)}"
            seen.add(name)


def test_test_targets_import_only_what_their_module_reaches(targets):
    differences = []
    for name, (kind, ours, external) in targets.items():
        if kind != "test":
            continue
        subject = name.removesuffix("Tests")
        assert name.endswith("Tests") and subject in targets, f"{name}: a test target is called after its module"
        allowed, products = reach(targets, subject)
        allowed |= reach(targets, "EngineTestSupport" if subject in ENGINE else "PosternTestSupport")[0]
        if subject not in ours:
            differences.append(f"{name} does not depend on {subject}")
        differences += [f"{name} -> {edge}: {subject} does not reach it" for edge in sorted(ours - allowed)]
        differences += [f"{name} -> {edge}: {subject} does not reach it" for edge in sorted(external - products - ORACLES.get(name, set()))]
    assert not differences, "\n".join(differences)


def test_products_reach_no_development_code(package, targets):
    for name, (kind, ours, _) in targets.items():
        assert kind == "test" or name in TEST_SUPPORT or not TEST_SUPPORT & ours, f"{name} imports what is for tests only"
    for product in package["products"]:
        for target in product["targets"]:
            found = reach(targets, target)[0] & DEVELOPMENT_ONLY
            assert not found, f"the product {product['name']} reaches {sorted(found)}"


def test_the_sidecar_does_without_modules_for_foundation(targets):
    found = reach(targets, "postern")[0] & FOR_FOUNDATION
    assert not found, f"postern reaches {sorted(found)}"


def test_every_target_has_the_settings(package, playground):
    for target in package["targets"] + playground["targets"]:
        if target["type"] == "system" or target["name"] in WITHOUT_SETTINGS:
            continue
        found = []
        for setting in target["settings"]:
            ((kind, value),) = setting["kind"].items()
            found.append((kind, value["_0"] if isinstance(value, dict) else value))
            assert setting.get("condition") is None, f"{target['name']}: {kind} holds under a condition only"
        missing = [setting for setting in SETTINGS if setting not in found]
        assert not missing, f"{target['name']} lacks {missing}"
        unsafe = [kind for kind, _ in found if kind == "unsafeFlags"]
        assert not unsafe, f"{target['name']} has unsafe flags"


def test_language_mode_is_six(package, playground):
    assert package.get("swiftLanguageVersions") == playground.get("swiftLanguageVersions") == ["6"]


def test_sources_holds_the_product_and_nothing_else(package, targets):
    """Catches a folder that is no target, and development code in Sources/."""
    folders = {path.name for path in (ROOT / "Sources").iterdir() if path.is_dir()}
    modules = {name for name, (kind, _, _) in targets.items() if kind != "test"}
    assert folders == modules - DEVELOPMENT_ONLY
    elsewhere = {target["name"]: target["path"] for target in package["targets"] if target.get("path")}
    assert elsewhere == {name: f"Tests/{name}" for name in DEVELOPMENT_ONLY}


def source_control(package):
    """identity -> required versions, of the packages that a package takes from a repository."""
    found = [one["sourceControl"][0] for one in package["dependencies"] if "sourceControl" in one]
    return {one["identity"]: one["requirement"] for one in found}


def test_no_symbolic_link_points_nowhere():
    """The fuzzers share files of the product by links, and are built by hand only: a file that moves breaks them."""
    links = [path for folder in ("Sources", "Tests") for path in (ROOT / folder).rglob("*") if path.is_symlink()]
    assert links, "the search finds no links"
    assert [str(path.relative_to(ROOT)) for path in links if not path.exists()] == []


def test_the_playground_requires_the_versions_of_the_root_package(package, playground):
    """Catches another version: both packages are built in one scratch directory and have their checkouts in common."""
    ours = source_control(package)
    theirs = source_control(playground)
    assert theirs and theirs == {name: ours.get(name) for name in theirs}


def test_the_playground_does_without_foundation():
    """Catches an import that every test would wait for when the playground starts."""
    folders = ["Tests/Playground/Sources/Playground", "Tests/Playground/Sources/PlaygroundCommand"]
    imports = [(path, module) for folder in folders for path, module in swift_imports(folder)]
    assert imports and not [path for path, module in imports if module.startswith("Foundation")]


# MARK: imports in the sources

IMPORT = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)]*\))?[ \t]+)*(?:(?:public|package|internal|fileprivate|private)[ \t]+)?"
    r"import[ \t]+(?:(?:struct|class|enum|protocol|func|var|let|typealias|actor)[ \t]+)?(\w+)",
    re.MULTILINE,
)


def without_comments(text):
    """Comments and multi-line strings emptied: an import quoted in them is none."""
    text = re.sub(r'"""(?:.|\n)*?"""', '""', text)
    text = re.sub(r"/\*(?:.|\n)*?\*/", "", text)
    return re.sub(r"//[^\n]*", "", text)


def swift_imports(folder):
    """(path from the root, imported module) of every import of every Swift file below `folder`."""
    found = []
    for path in sorted((ROOT / folder).rglob("*.swift")):
        relative = path.relative_to(ROOT)
        if ".build" in relative.parts:
            continue
        for module in IMPORT.findall(without_comments(path.read_text(encoding="utf-8"))):
            found.append((relative, module))
    return found


def test_the_import_scan_sees_imports():
    """Guards the guard: a scan that finds nothing would pass every test below."""
    text = '@preconcurrency public import NIOCore\nimport struct CPosternCurl.curl_slist\n'
    text += '// import A\n/* import B */\nlet s = """\nimport C\n"""\n'
    assert IMPORT.findall(without_comments(text)) == ["NIOCore", "CPosternCurl"]
    assert len(swift_imports("Sources")) > 100


def test_confined_modules_are_imported_in_their_place_only():
    offences = []
    for path, module in swift_imports("Sources") + swift_imports("clients"):
        for pattern, places in CONFINED.items():
            matches = module.startswith(pattern[:-1]) if pattern.endswith("*") else module == pattern
            owner = path.parts[1] if path.parts[0] == "Sources" else str(path.parent)
            if matches and owner not in places:
                offences.append(f"{path}: import {module} belongs to {', '.join(sorted(places))}")
    assert not offences, "\n".join(offences)


def test_sources_import_only_what_their_module_declares(targets):
    """The build checks this with --explicit-target-dependency-import-check; here it costs no build."""
    products = {product for _, _, external in targets.values() for product in external}
    offences = []
    for path, module in swift_imports("Sources"):
        _, ours, external = targets[path.parts[1]]
        if (module in targets or module in products) and module not in ours | external:
            offences.append(f"{path}: import {module} is no dependency of {path.parts[1]}")
    assert not offences, "\n".join(offences)


def test_product_modules_do_without_foundation():
    offences = []
    for path, module in swift_imports("Sources") + swift_imports("clients"):
        if path.parts[1] in DEVELOPMENT_ONLY | FOR_FOUNDATION or str(path) in FOUNDATION_ALLOWED:
            continue
        if module.startswith("Foundation"):
            offences.append(f"{path}: import {module}")
    assert not offences, "\n".join(offences)
    missing = [path for path in FOUNDATION_ALLOWED if not (ROOT / path).is_file()]
    assert not missing, f"allowed to import Foundation, but gone: {missing}"


# MARK: what the compiler lets pass


def test_no_lock_holds_a_closure_itself():
    """Catches a closure as the value of a `Locked`: each access wraps it once more, and a call overflows the stack."""
    of_closure = re.compile(r"\bLocked<[^<>{}\n]*->")
    assert of_closure.search("let a = Locked<(@Sendable () -> Void)?>(nil)") and not of_closure.search("Locked<Int>(0) -> Int")
    offences = [
        f"{path.relative_to(ROOT)}: put the closure into a struct"
        for path in sorted((ROOT / "Sources").rglob("*.swift"))
        if of_closure.search(without_comments(path.read_text(encoding="utf-8")))
    ]
    assert not offences, "\n".join(offences)


# Two enumerations joined by their raw values, with a default or nothing for what one of them does not have: a case that
# is added on one side only is lost in silence. An exhaustive `switch` does not compile then.
JOINED_BY_RAW_VALUE = re.compile(
    r"\brawValue:[^\n]*\)\s*\?\?|\b(?:flatMap|compactMap)\s*\{[^{}]*\brawValue:\s*[$\w.]+\.rawValue\b[^{}]*\}"
)


def test_the_search_for_joined_enumerations_sees_them():
    """Guards the guard."""
    for text in [
        "auth: A(rawValue: b.rawValue) ?? .none,", "A(rawValue: b.rawValue)\n      ?? .none",
        "a.flatMap { A(rawValue: $0.rawValue) }", "a.compactMap {\n  A.B(rawValue: $0.kind.rawValue)\n}",
    ]:
        assert JOINED_BY_RAW_VALUE.search(text), text
    for text in ["guard let value = A(rawValue: text) else { return nil }", "Code(rawValue: error.code.rawValue)", "A(b)"]:
        assert not JOINED_BY_RAW_VALUE.search(text), text


def test_no_enumerations_are_joined_by_their_raw_values():
    """Catches what fails open: a resource was fetched without a token when its `auth` had no namesake in the engine."""
    offences = [
        f"{path.relative_to(ROOT)}: write an exhaustive switch"
        for path in sorted((ROOT / "Sources").rglob("*.swift"))
        if path.relative_to(ROOT).parts[1] not in DEVELOPMENT_ONLY
        and JOINED_BY_RAW_VALUE.search(without_comments(path.read_text(encoding="utf-8")))
    ]
    assert not offences, "\n".join(offences)


# MARK: what a peer's rule bounds


def test_the_table_of_what_rules_bound_is_the_code():
    """Catches a method whose bounds changed in the code and not in operations.md, or that is in no row."""
    declared = {}
    for path in sorted((ROOT / "Sources/PosternProtocol/Methods").rglob("*.swift")):
        form = r'static let name = "([^"]+)"\n  public static let bounds: PeerBounds = ([^\n]+)'
        for found in re.finditer(form, path.read_text(encoding="utf-8")):
            every = ["resources", "issuers", "preauthorization"]
            names = set(every) if found[2] == ".all" else {name for name in every if f".{name}" in found[2]}
            declared[found[1]] = names
    text = (ROOT / "proto-docs/operations.md").read_text(encoding="utf-8")
    table = text.partition("| method | bounded by | effect |\n")[2].partition("\n\n")[0]
    documented = {}
    for row in table.splitlines()[1:]:
        methods, bounds, _ = [cell.strip() for cell in row.strip("|").split("|")][:3]
        for method in re.findall(r"`([^`]+)`", methods):
            assert method not in documented, method
            documented[method] = set(re.findall(r"`([^`]+)`", bounds))
    assert len(declared) > 30 and documented == declared


# Every module of the product but what only reads the operator's own configuration: header fields, cookies, URLs,
# schemes, media types, parts of tokens, documents of other servers, the environment.
READS_PROTOCOL_TEXT = sorted(
    path.name for path in (ROOT / "Sources").iterdir()
    if any(path.rglob("*.swift")) and path.name not in
    {"PosternConfiguration", *DEVELOPMENT_ONLY})

# Forms that cut, find or compare text by `Character` or by canonical equivalence, and what to write in their place.
TEXT_BY_CHARACTER = {
    r"\.(?:lowercased|uppercased)\(\)": "lowercasedASCII(), uppercasedASCII() or hasSameASCIILetters(as:)",
    r"\.has(?:Prefix|Suffix)\b": "startsWithBytes(of:), endsWithBytes(of:)",
    r'(?<!utf8)\.split\((?:separator: "|whereSeparator|omitting)|\.split \{': "split(atByte:)",
    r'(?<!utf8)\.(?:firstIndex|lastIndex)\(of: "': "utf8.firstIndex(of:)",
    r'\$0 (?:==|!=) "(?:\\?.|\\u\{\w+\})"': "prefix(beforeBytes:), or bytes of utf8",
    r'\.(?:first|last) (?:==|!=) "(?:\\?.)"': "utf8.first, utf8.last",
    r'\.contains\("': "containsBytes(of:), or utf8.contains",
    r"\bas Character\b|: Character\b|\bCharacter\(": "bytes of utf8",
    r"(?<!ASCII)\.is(?:Whitespace|Letter|Number|Newline|HexDigit)\b": "ranges of bytes",
}

# Files that use one of these forms all the same: (file, what stands there, why it is no text of a protocol, or cannot
# go wrong).
CHARACTERS_ALLOWED = [
    ("PosternObservability/Audit/AuditFile.swift", "path.hasSuffix", "the path of a file"),
    ("PosternObservability/Audit/AuditFileOpening.swift", "name.hasPrefix(prefix)", "the name of a file"),
    ("CurlTransport/ConnectionTrust.swift", 'path.hasPrefix("/")', "the path of a file"),
    ("PosternRuntime/Hardening/Landlock.swift", 'path.hasPrefix("/proc/")', "the path of a file"),
    ("PosternRuntime/Hardening/Sandbox.swift", 'allowed.contains("/")', "a list of directories"),
    ("PosternRuntime/Hardening/LateLibraries.swift", "whereSeparator:", "bytes"),
    ("HTTPMessages/PathInspection.swift", "bytes.split {", "bytes"),
    ("HTTPMessages/ReservedCookies.swift", "part.split(whereSeparator:", "bytes"),
    ("SessionStore/File/StoreDirectory.swift", 'given.hasSuffix("/")', "the path of a file"),
    ("SessionStore/File/StoreDirectory.swift", 'path.lastIndex(of: "/")', "the path of a file"),
    ("SessionStore/Redis/RedisAddress.swift", "", "an address of the configuration"),
    ("Sidecar/Observability/Health/FileReloadMonitor.swift", 'check.hasPrefix("file.")', "the name of a check of ours"),
    ("Sidecar/Engine/Snapshot/ConfigurationSnapshot.swift", 'names.contains("*")', "a list of names of the configuration"),
    ("LoopbackLogin/LoopbackPeer.swift", "", "tables of the kernel"),
    ("postern/Serving/FileLocations.swift", "", "paths of files"),
    ("postern/Serving/ProcessHardening.swift", "real.hasPrefix", "paths of files"),
    ("postern/Serving/SandboxPlan.swift", "", "paths of files, and a place of the configuration"),
    ("PosternRuntime/Processes/SystemdNotifier.swift", "Character($0)", "a line of ours for systemd"),
    ("OAuthClient/AccessManagers/SignOn/AuthorizeAnswer.swift", 'names.contains("', "a list of names; nothing else equals ASCII without K, ; and `"),
    ("OAuthClient/Authorization/ProviderClient+Authorization.swift", 'methods.contains("S256")', "a list of names"),
]


def text_by_character(text):
    """(number of the line, line, what to write instead) for each use of one of the forms."""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        for form, instead in TEXT_BY_CHARACTER.items():
            if re.search(form, line):
                yield number, line.strip(), instead


def assert_only_allowed(modules, scan, allowed):
    """Fails for each line that `scan` finds in `modules` without an entry of `allowed`, and for each unused entry."""
    offences, used = [], set()
    for path in (path for module in modules for path in sorted((ROOT / "Sources" / module).rglob("*.swift"))):
        name = str(path.relative_to(ROOT / "Sources"))
        for number, line, instead in scan(path.read_text(encoding="utf-8")):
            entries = [entry for entry in allowed if entry[0] == name and entry[1] in line]
            used.update(entries)
            if not entries:
                offences.append(f"Sources/{name}:{number}: {line}: write {instead}")
    assert not offences, "\n".join(offences)
    unused = [entry for entry in allowed if entry not in used]
    assert not unused, f"allowed, but not there any more: {unused}"


def test_the_scan_for_characters_sees_them():
    for line in [
        'value.split(separator: ";")', "line.split(whereSeparator: isComma)", 'pair.prefix { $0 != "=" }', "name.lowercased()",
        'host.hasSuffix(".test")', "schemes.contains(where: text.hasPrefix)", 'text.firstIndex(of: ":")', 'text.contains("?")',
        "first.isWhitespace", 'if text.first == "/" { }', "let comma: Character = separator",
    ]:
        assert list(text_by_character(line)), line
    for line in [
        "bytes.split(separator: UInt8(ascii: \";\"))", 'text.split(atByte: ";")', "let a = b // name.lowercased()",
        "name.lowercasedASCII()", 'text.utf8.firstIndex(of: UInt8(ascii: ":"))', "names.contains(name)", 'code == "110"',
    ]:
        assert not list(text_by_character(line)), line


def test_protocol_text_is_read_by_bytes():
    """Catches text of a protocol that is cut or compared by `Character`.

    U+0600 makes one character of itself and the semicolon behind it, a combining scalar of itself and the one before
    it, and U+212A is equal to `K`: two cookies of every other program would be one here, which no rule checks.
    """
    assert_only_allowed(READS_PROTOCOL_TEXT, text_by_character, CHARACTERS_ALLOWED)


# Tasks that the engine starts on the runtime's own threads: (file, what stands there, why no user has turns there).
BARE_TASKS_ALLOWED = [
    ("SDKCompatibility/AccessEnabler.swift", "Task { [self] in", "for Swift programs, which have one user"),
    ("Entitlements/Calls/Preauthorizer.swift", "Task { [clock = services.clock] in", "a timer"),
    ("TokenValidation/KeySets/RemoteJWKSet.swift", "Task { [self] in", "waits for a run that has turns, or is everybody's"),
    ("ResourceAccess/OriginLimits/OriginLimiter.swift", "let watch = Task {", "a timer"),
    ("SDKCompatibility/ResourceFetcher+Completion.swift", "Task { [options] in", "for Swift programs, which have one user"),
    ("Sessions/Refresh/TokenRefresher+Proactive.swift", "Task {", "the schedule has turns of its own"),
    ("SessionRecords/DeferredRecordStore.swift", "Task { [self] in", "everybody's store"),
    ("SessionRecords/RecordWriter.swift", "Task { [self] in", "everybody's store"),
]


def bare_tasks(text):
    """(number of the line, line, what to write instead) for each task that is started without an executor."""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        if re.search(r"(?<![\w.])Task(?:\.detached)?(?:\(priority:[^)]*\))? ?\{", line):
            yield number, line.strip(), "CallScope.task"


def test_the_scan_for_bare_tasks_sees_them():
    for line in ["Task { [self] in", "let a = Task { 1 }", "Task.detached { }", "Task(priority: .low) {"]:
        assert list(bare_tasks(line)), line
    for line in ["scope.task { }", "-> NetworkTask {", "withTaskGroup(of: Int.self) { group in", "group.addTask { }", "// Task { }"]:
        assert not list(bare_tasks(line)), line


def test_what_a_call_starts_has_the_turns_of_its_user():
    """Catches a task that a call of the engine starts on the runtime's own threads, where no user has a rotation."""
    assert_only_allowed(ENGINE, bare_tasks, BARE_TASKS_ALLOWED)
