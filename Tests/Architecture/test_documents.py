"""The documents: links, and what is written twice and must agree.

Run by itself: python3 -m pytest -q Tests/Architecture. Standard library only.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from test_modules import ENGINE

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "proto-docs"

# Wording that belongs in no file here. Spelled in halves so that this list does not find itself.
UNWANTED_WORDING = [
    r"\b" + "chat" "gpt" + r"\b",
    r"\b" + "cop" "ilot" + r"\b",
    r"\b" + "clau" "de" + r"\b",
    r"\b" + "anth" "ropic" + r"\b",
    r"\b" + "open" "ai" + r"\b",
    r"\b" + "ll" "ms?" + r"\b",
    r"\b" + "language " "models?" + r"\b",
    r"\b(ai|coding|autonomous)[ -]" + "(assist" "ants?|age" "nts?)" + r"\b",
    r"\b(sub-?|helper )" + "age" "nts?" + r"\b",
    r"\b(written|generated|made|assisted) (by|with) (an? )?" + "a" "i" + r"\b",
    "/work/" "(shared|main)",
    "/tmp/" "wt-",
]


def repository_files():
    """Every file that is or would be committed."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        paths = [ROOT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):  # a tarball has no git
        paths = []
        for folder, names, files in os.walk(ROOT):
            skipped = {".git", "node_modules", "__pycache__"}
            names[:] = [name for name in names if name not in skipped and not name.startswith(".build")]
            paths += [Path(folder) / name for name in files]
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def prose(markdown):
    """The text without code blocks and code spans: what looks like a link in them is none."""
    markdown = re.sub(r"^( *)(```+|~~~+).*?^\1\2[ \t]*$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"(`+)(?:(?!\1).)+?\1", "``", markdown, flags=re.DOTALL)


def anchors(markdown):
    """The fragments a page offers, by GitHub's rule: lower case, punctuation gone, spaces to hyphens."""
    found = set(re.findall(r'<a (?:id|name)="([^"]+)"', markdown))
    body = re.sub(r"^( *)(```+|~~~+).*?^\1\2[ \t]*$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", body, flags=re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        unique, count = slug, 0
        while unique in found:
            count += 1
            unique = f"{slug}-{count}"
        found.add(unique)
    return found


def test_the_link_scan_sees_links():
    text = "# A `b` (c)\n[x](y.md#z) `[no](no.md)`\n```\n[no](no.md)\n# no\n```\n"
    assert re.findall(r"\]\(([^)\s]+)", prose(text)) == ["y.md#z"]
    assert anchors(text) == {"a-b-c"}


def test_relative_links_resolve():
    broken = []
    for page in repository_files():
        if page.suffix != ".md":
            continue
        text = prose(page.read_text(encoding="utf-8"))
        links = re.findall(r"\]\(<?([^)\s>]+)", text) + re.findall(r"^\[[^\]]+\]: +(\S+)", text, re.MULTILINE)
        for link in links:
            if re.match(r"[a-z][a-z0-9+.-]*:|//", link):
                continue
            target, _, fragment = link.partition("#")
            file = (page.parent / target).resolve() if target else page
            place = f"{page.relative_to(ROOT)}: {link}"
            if not file.exists() or ROOT not in [file, *file.parents]:
                broken.append(f"{place}: no such file")
            elif fragment and file.suffix == ".md" and fragment not in anchors(file.read_text(encoding="utf-8")):
                broken.append(f"{place}: no such heading")
    assert not broken, "\n".join(broken)


#: Files that name programs of others, which the tests serve.
NAMES_PROGRAMS = {"Tests/EndToEnd/test_gateway_programs.py", "Tests/Providers/programs.txt"}


def test_no_file_has_unwanted_words():
    patterns = [re.compile(pattern, re.IGNORECASE) for pattern in UNWANTED_WORDING]
    found = []
    for path in repository_files():
        if str(path.relative_to(ROOT)) in NAMES_PROGRAMS:
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
            for pattern in patterns:
                if match := pattern.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {match.group(0)}")
    assert not found, "\n".join(found)


def test_decision_records_are_numbered_without_gaps():
    records = sorted(path.name for path in (PAGES / "decisions").glob("*.md"))
    assert [name[:5] for name in records] == [f"{number:04}-" for number in range(len(records))], records


def test_every_decision_record_is_in_the_index_and_names_what_amends_it():
    """Catches a record that architecture.md does not list, and one that does not name a later change."""
    records = sorted(path for path in (PAGES / "decisions").glob("*.md") if not path.name.startswith("0000"))
    index = re.findall(r"\| \[(\d{4})\]\(decisions/(\S+)\) \|$", (PAGES / "architecture.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert index == [(path.name[:4], path.name) for path in records], "architecture.md: one row a record, in their order"
    for path in records:
        status = path.read_text(encoding="utf-8").split("\n\n")[1]
        assert re.match(r"Accepted\. |Superseded by \[", status), f"{path.name}: the third line is its status"
        for name in re.findall(r"(?:Amended|Superseded|and) by \[\d{4}\]\(([^)]+)\)", status):
            assert name > path.name, f"{path.name}: {name} is not later"


# MARK: what pages and code both say


#: The modules that write the log.
SERVICE = ["Sidecar", "PosternObservability", "postern"]


def sources(folder):
    return "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "Sources" / folder).rglob("*.swift")))


def first_cells(page, pattern):
    """The first cell of each table row of a page, where it matches."""
    rows = re.findall(r"^\| *(.*?) *\|", (PAGES / page).read_text(encoding="utf-8"), re.MULTILINE)
    return [match.group(1) for row in rows if (match := re.fullmatch(pattern, row))]


def test_errors_page_lists_every_error():
    """Number and reason of every ErrorCode, both ways; a number has one meaning."""
    table = re.findall(r'ErrorCode\(\s*(-?\d+), "(\w+)"', sources("PosternSupport"))
    declared = set(table)
    assert len({number for number, _ in table}) == len(table), "a number is declared twice"
    page = (PAGES / "errors.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| (-?\d+) \| `(\w+)` \|", page, re.MULTILINE))
    assert len(declared) > 20, "the scan of the sources finds too little"
    assert declared - listed == set(), "in the code but not in proto-docs/errors.md"
    assert listed - declared == set(), "in proto-docs/errors.md but not in the code"


def test_observability_page_lists_every_key_of_the_log():
    """Catches a key that operators cannot look up, one that no line has, and one that goes around the list."""
    keys = set(re.findall(r"\w+", re.search(r"enum LogKey: .*?{(.*?)}", sources("PosternObservability"), re.DOTALL)[1])) - {"case"}
    page = (PAGES / "observability.md").read_text(encoding="utf-8").partition("## Keys of the log")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert len(keys) > 20, "the scan of the sources finds too little"
    assert sorted(listed) == sorted(keys | {"time", "level", "logger", "message"})
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        text = path.read_text(encoding="utf-8")
        if "import Logging" in text:
            assert not re.search(r'metadata: \["|metadata\["|Logger\.Metadata = \["', text), f"{path}: a key that is no LogKey"
    for key in keys:
        assert re.search(rf"[\[( ]\.{key}\b", "".join(sources(module) for module in SERVICE)), f"{key} is used nowhere"


def test_troubleshooting_names_errors_that_exist():
    """Catches a symptom whose error was renamed, or that has another number."""
    listed = dict(re.findall(r"^\| (-?\d+) \| `(\w+)` \|", (PAGES / "errors.md").read_text(encoding="utf-8"), re.MULTILINE))
    page = (PAGES / "troubleshooting.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)` \((-?\d{4,5})", page)
    assert len(named) > 12, "the scan of the page finds too little"
    assert [pair for pair in named if listed.get(pair[1]) != pair[0]] == []


def test_upgrade_page_has_the_versions_of_the_code():
    """Catches a change of the protocol's version or the store's format that the page for operators does not have."""
    page = (PAGES / "upgrading.md").read_text(encoding="utf-8")
    [protocol] = re.findall(r'protocolVersion = "([^"]+)"', sources("Sidecar/Observability/Process"))
    [store] = re.findall(r"static let version: UInt32 = (\d+)", sources("SessionStore/File"))
    assert f"`protocolVersion` of `getInfo`: {protocol} |" in page and f"| format {store}, in the header" in page
    schema = json.loads((PAGES / "configuration.schema.json").read_text(encoding="utf-8"))
    assert json.dumps(schema).count('"deprecated": true') >= 2 and "`auth: device`" in page and "`pace`" in page


def test_wire_page_names_every_method():
    declared = set(re.findall(r'static let name = "([^"]+)"', sources("PosternProtocol/Methods")))
    page = (PAGES / "wire.md").read_text(encoding="utf-8")
    assert len(declared) >= 10, "the scan of the sources finds too little"
    missing = [name for name in declared if f"`{name}`" not in page]
    assert not missing, f"methods that proto-docs/wire.md does not name: {sorted(missing)}"


@pytest.mark.parametrize("method, section", [("FetchResource", "4.1"), ("ValidateIDToken", "4.3")])
def test_wire_page_lists_every_param(method, section):
    source = sources("PosternProtocol/Methods").split(f"enum {method}:", 1)[1]
    params = source.split("struct Params", 1)[1].split("memberDocs", 1)[0]
    declared = set(re.findall(r"public (?:var|let) (\w+):", params))
    text = (PAGES / "wire.md").read_text(encoding="utf-8").split(f"### {section}", 1)[1].split("\n### ", 1)[0]
    table = re.search(r"^\| (?:param|param of `\w+`) \|.*?\n\n", text + "\n\n", re.MULTILINE | re.DOTALL)
    listed = {
        name
        for row in table.group(0).strip().splitlines()[2:]
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert declared == listed


def lines_of(code):
    """The lines of `code` without indentation, and without empty ones."""
    return "\n".join(line.strip() for line in code.splitlines() if line.strip())


def assert_compiled(page, least):
    """Every block of `page` in Swift is in PosternExamples or Tests/Outside, line by line; there it is built and run.

    A fence with `swift sdk` has code of another vendor's SDK, which cannot be compiled here.
    """
    compiled = lines_of(sources("../Tests/Playground/Sources/PosternExamples") + sources("../Tests/Outside/Sources"))
    blocks = re.findall(r"^```swift\n(.*?)^```", (PAGES / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= least, "the scan of the page finds too little"
    for block in blocks:
        assert lines_of(block) in compiled, f"not in PosternExamples as it is in {page}:\n{block}"


def test_swift_page_shows_what_is_compiled():
    assert_compiled("swift.md", 4)


@pytest.mark.parametrize("page, least", [
    ("forgerock", 10), ("onewelcome", 14), ("adobe-pass", 7), ("id-token-validation", 7),
])
def test_migration_pages_show_what_is_compiled(page, least):
    """Code of a migration page that was not compiled would send a reader to names that do not exist."""
    assert_compiled(f"migration/{page}.md", least)


def test_swift_page_installs_what_the_build_needs():
    """Catches a library that is linked, and that a reader of the guide does not have."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    needed = re.search(r"^BUILD_PACKAGES := (.*)$", makefile, re.MULTILINE)
    page = (PAGES / "swift.md").read_text(encoding="utf-8").replace("\\\n", " ")
    shown = re.search(r"^# apt-get install (.*)$", page, re.MULTILINE)
    assert needed and shown and shown[1].split() == needed[1].split()


def test_operations_page_lists_every_metric():
    declared = set(re.findall(r'family\(\s*"(\w+)"', sources("Sidecar/Observability/Metrics")))
    listed = set(first_cells("operations.md", r"`((?:postern|process)_\w+)`"))
    assert len(declared) >= 10, "the scan of the sources finds too little"
    assert declared == listed


#: The articles of the Swift reference; the other pages of the catalogue are about a symbol.
ARTICLES = [file for file in sorted((ROOT / "Sources/PosternKit/PosternKit.docc").glob("*.md"))
            if not file.read_text(encoding="utf-8").startswith("# ``")]


@pytest.mark.parametrize("article", ARTICLES, ids=lambda file: file.stem)
def test_an_article_shows_what_is_compiled(article):
    """Catches a Swift block of an article that no program has, line by line."""
    examples = sources("../Tests/Playground/Sources/PosternExamples")
    compiled = "\n".join(line.strip() for line in examples.splitlines() if line.strip())
    blocks = re.findall(r"^```swift\n(.*?)^```", article.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks, "an article without code"
    for block in blocks:
        shown = "\n".join(line.strip() for line in block.splitlines() if line.strip())
        assert shown in compiled, f"not in PosternExamples as it is in {article.name}:\n{block}"


def test_every_wall_between_callers_has_a_test_that_exists():
    """A row without a test, or one whose test was renamed or deleted, is a promise that nothing holds."""
    missing = []
    rows = 0
    walls = (PAGES / "isolation.md").read_text(encoding="utf-8").partition("\n## Known gaps\n")[0]
    for line in walls.splitlines():
        if not line.startswith("| ") or line.startswith("| shared |"):
            continue
        rows += 1
        tests = re.findall(r"`([\w/.]+\.(?:py|swift))(?:::(\w+)|: \"([^\"`]+)\")`", line.split("|")[-2])
        if not tests:
            missing.append(f"no test: {line}")
        for file, function, sentence in tests:
            path = ROOT / "Tests" / file
            wanted = f"def {function}(" if function else f'"{sentence}"'
            if not path.exists() or wanted not in path.read_text(encoding="utf-8"):
                missing.append(f"{file}: {function or sentence}")
    assert rows > 25, "the tables are not read"
    assert not missing, "\n".join(missing)


def is_test(file, function):
    """Whether `file`, below Tests, has a test of that function name."""
    path = ROOT / "Tests" / file
    if not path.exists():
        return False
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return f"\ndef {function}(" in text
    # The attribute is in the lines above the function, as far as the last empty one.
    return any(
        "@Test" in text[text.rfind("\n\n", 0, found.start()) + 1:found.start()]
        for found in re.finditer(rf"^  func {function}\b", text, re.MULTILINE))


def test_every_row_of_the_feature_table_has_tests_that_exist():
    """A row without a test, or one whose test was renamed or deleted, is a promise that nothing supports."""
    missing = []
    rows = []
    for line in (PAGES / "sdk-features.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("| ") or line.endswith("| on the wire | state | test |"):
            continue
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        tests = re.findall(r"`([\w/.]+\.(?:py|swift))::(\w+)`", cells[-1])
        rows.append(cells)
        if len(cells) != 5 or not tests:
            missing.append(f"no test: {line}")
        elif not re.match(r"works$|differs: \S|declined: \S", cells[3].strip()):
            missing.append(f"no state, or no reason: {line}")
        missing += [f"{file}: {function}" for file, function in tests if not is_test(file, function)]
    assert len(rows) > 140, "the tables are not read"
    assert not missing, "\n".join(missing)


# MARK: the glossary


def term_rows():
    """The rows of the tables of terms: term, meaning, source, where it is in Postern."""
    glossary = (PAGES / "glossary.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| term \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", glossary, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for table in tables for row in table.splitlines()]


METHOD = re.compile(r"(begin|complete|create|end|list|get|validate|introspect|revoke|register|reload|refresh)[A-Z]\w+")


def configuration_paths(schema, prefix=""):
    """Every key of the configuration as the documents write it: issuers.NAME.scope, peers.[].rate."""
    for key, inner in schema.get("properties", {}).items():
        yield prefix + key
        yield from configuration_paths(inner, f"{prefix}{key}.")
    for word, step in [("additionalProperties", "NAME."), ("items", "[].")]:
        if isinstance(schema.get(word), dict):
            yield from configuration_paths(schema[word], prefix + step)
    for word in ["oneOf", "anyOf", "allOf"]:
        for inner in schema.get(word, []):
            yield from configuration_paths(inner, prefix)


def test_configuration_keys_and_methods_in_the_glossary_exist():
    """Catches a glossary that names a key or a method that was renamed."""
    schema = json.loads((PAGES / "configuration.schema.json").read_text(encoding="utf-8"))
    paths = set(configuration_paths(schema))
    tops = {path.partition(".")[0] for path in paths}
    openrpc = json.loads((PAGES / "openrpc.json").read_text(encoding="utf-8"))
    methods = {method["name"] for method in openrpc["methods"]}
    assert len(paths) > 100 and len(methods) > 20, "the scan of the generated documents finds too little"
    for row in term_rows():
        for span in re.findall(r"`([^`]+)`", row[3]):
            path = span.partition(":")[0]
            if "." in path and path.partition(".")[0] in tops:
                assert path in paths | {top + ".NAME" for top in tops}, f"{row[0]}: no key {path}"
            elif METHOD.fullmatch(path):
                assert path in methods, f"{row[0]}: no method {path}"
