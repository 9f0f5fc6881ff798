"""The words of proto-docs/glossary.md, doc comments that say what they are about, and comments of at most 120 columns.

    python3 -m pytest -q Tests/Architecture/test_wording.py    fails when a total is not the recorded one
    python3 Tests/Architecture/test_wording.py                 the totals of all rules, with the recorded ones
    python3 Tests/Architecture/test_wording.py --list RULE     each finding of a rule, or of `all`; PATH… restricts it
    python3 Tests/Architecture/test_wording.py --update        records lower totals; never higher ones

wording-allowed.json has one number per rule for the whole tree, so that moving files changes nothing. It may only
shrink: a repair is recorded in the same commit. A new rule is added to it by hand. Standard library only.
"""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

import wording

ALLOWED = Path(__file__).resolve().parent / "wording-allowed.json"
UPDATE = "python3 Tests/Architecture/test_wording.py --update"


def recorded():
    return json.loads(ALLOWED.read_text(encoding="utf-8")) if ALLOWED.exists() else {}


def differences(now, before):
    """(rules with more findings than recorded, rules with fewer, recorded rules that do not exist)."""
    more = {rule: count for rule, count in now.items() if count > before.get(rule, 0)}
    fewer = {rule: count for rule, count in now.items() if count < before.get(rule, 0)}
    return more, fewer, sorted(before.keys() - now.keys())


# MARK: the tree


def test_the_scan_reads_the_tree():
    """Catches a scan that finds nothing because it looks at nothing."""
    names = wording.repository_files()
    assert sum(map(wording.is_scanned_for_words, names)) > 1000
    for name in ["README.md", "Makefile", "Package.swift", "clients/python/README.md", "proto-docs/wire.md"]:
        assert name in names and wording.is_scanned_for_words(name), name
    assert not wording.is_scanned_for_words("proto-docs/reference/README.md")
    assert not wording.is_scanned_for_words("proto-docs/decisions/0006-synchronous-channel-handlers.md")
    assert wording.is_scanned_for_words("proto-docs/decisions/0018-anything.md")
    missing = [name for name in wording.GENERATED | wording.OLD_NAMES if not (wording.ROOT / name).exists()]
    assert not missing, f"exempt as generated, and not there: {missing}"


# MARK: the glossary


GLOSSARY = wording.GLOSSARY.read_text(encoding="utf-8")
RULES = wording.read_glossary(GLOSSARY)


def test_every_rule_has_words_and_every_exception_belongs_to_its_rule():
    """Catches a row of the table that is not read, and an exception that can never apply."""
    assert len(RULES.rules) > 20 and len(RULES.names) > 60
    assert len({rule.name for rule in RULES.rules}) == len(RULES.rules)
    for rule in RULES.rules:
        assert rule.phrases, rule.name
        firsts = {words[0] for words in rule.phrases}
        idle = [" ".join(words) for words in rule.allowed if not firsts & set(words)]
        assert not idle, f"{rule.name}: not counted, and no words of the rule: {idle}"


def test_exempt_wire_names_exist():
    """Catches an exemption that is left when its name has gone."""
    assert len(RULES.wire_names) > 5
    folders = ["Sources", "clients", "proto-docs", "Tests/Playground/Sources"]
    suffixes = {".swift", ".js", ".md"}
    files = [path for folder in folders for path in (wording.ROOT / folder).rglob("*") if path.suffix in suffixes]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if path != wording.GLOSSARY)
    unused = [name for name in RULES.wire_names if not any(f"{mark}{name}{mark}" in text for mark in '"`')]
    assert not unused, f"exempt in glossary.md, and nowhere else: {unused}"


def term_rows():
    """The rows of the tables of terms: term, meaning, source, where it is in Postern."""
    tables = re.findall(r"^\| term \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", GLOSSARY, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for table in tables for row in table.splitlines()]


def test_every_term_is_one_sentence_with_a_source():
    """Catches a definition without a source, or one that does not fit on one line of the table."""
    rows = term_rows()
    assert len(rows) >= 60
    assert len({row[0] for row in rows}) == len(rows), "a term is defined twice"
    for term, meaning, source, where in rows:
        assert meaning.endswith(".") and meaning[0].isupper(), f"{term}: a definition is a sentence"
        assert not re.search(r"\.\s+[A-Z]", meaning), f"{term}: a definition is one sentence"
        assert source and where, f"{term}: a dash where there is none"
        for part in re.findall(r"RFC[^,;()]*", source):
            assert re.fullmatch(r"RFC \d{4} §\d+(\.\d+)*\s*", part), f"{term}: cannot read the source {part!r}"


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
    documents = wording.ROOT / "proto-docs"
    schema = json.loads((documents / "configuration.schema.json").read_text(encoding="utf-8"))
    paths = set(configuration_paths(schema))
    tops = {path.partition(".")[0] for path in paths}
    openrpc = json.loads((documents / "openrpc.json").read_text(encoding="utf-8"))
    methods = {method["name"] for method in openrpc["methods"]}
    assert len(paths) > 100 and len(methods) > 20, "the scan of the generated documents finds too little"
    for row in term_rows():
        for span in wording.spans(row[3]):
            path = span.partition(":")[0]
            if "." in path and path.partition(".")[0] in tops:
                assert path in paths | {top + ".NAME" for top in tops}, f"{row[0]}: no key {path}"
            elif METHOD.fullmatch(path):
                assert path in methods, f"{row[0]}: no method {path}"


# MARK: the rules themselves


def sample(words, allowed=(), wire_names=(), rule="rule"):
    rule = wording.Rule(rule, tuple(map(wording.phrase, words)), tuple(map(wording.phrase, allowed)))
    return wording.WordScan(wording.Glossary((rule,), (), frozenset(wire_names)))


def count(scan, text):
    return len(scan.findings(text))


def test_words_are_found_whole_in_prose_and_identifiers():
    """Catches a scan that sees parts of words, or that does not take identifiers apart."""
    scan = sample(["renewal"])
    for text in ["Renewal", "the renewal,", "beginRenewal", "renewalFailed", "begin_renewal", "RPCRenewal", "`renewal`"]:
        assert count(scan, text) == 1, text
    for text in ["renewals", "Renewals", "prerenewal", "renew"]:
        assert count(scan, text) == 0, text
    assert wording.words_of("beginRPCSession2") == ("begin", "rpc", "session")
    assert count(sample(["nobody's"]), "It is nobody’s.") == 1


def test_phrases_pass_over_lines_and_comment_marks_but_not_over_full_stops():
    scan = sample(["signs of life", "process … ends"])
    assert count(scan, "/// Gives signs\n  /// of life.") == 1
    assert count(scan, "signs. Of life") == 0
    for text in ["the process ends", "a process that ends", "processEnds", "the process then always ends"]:
        assert count(scan, text) == 1, text
    assert count(scan, "the process by itself never ends") == 0


def test_phrases_of_the_field_are_not_counted():
    scan = sample(["refused", "held", "turn"], ["connection refused", "lock … held", "turn … off"])
    for text in ["Connection refused", "ECONNREFUSED", "the lock is held", "a lock that is held", "turn it off"]:
        assert count(scan, text) == 0, text
    for text in ["refused a connection", "a connection was refused", "held by a lock", "off in turn"]:
        assert count(scan, text) == 1, text


def test_wire_names_are_exempt_where_they_are_names():
    scan = sample(["refused"], wire_names=["postern_rpc_refused_total", "refused"])
    for text in ["postern_rpc_refused_total", '"refused"', "`refused`", "\nrefused: 1", "a.b.refused.c"]:
        assert count(scan, text) == 0, text
    for text in ["it is refused", "postern_rpc_refused", '"was refused"', ".refused"]:
        assert count(scan, text) == 1, text


def test_names_of_types_and_members_are_found_in_code():
    scan = wording.NameScan(["OriginGate", "Break", "owner", "+Ways"])
    code = "struct OriginGateTests { let owner: Int } // an OriginGate's owner, `OriginGate`, `owner`\nlet a = \"OriginGate\""
    assert [name for _, name in scan.findings(code, is_code=True)] == ["OriginGateTests", "owner", "OriginGate"]
    assert [name for _, name in scan.findings("OriginGate, `OriginGate`, `owner`", is_code=False)] == ["OriginGate"]
    assert scan.findings("let originGates = lineBreak; break", is_code=True) == []
    assert wording.NameScan(["Break"], ["BREAK_LINE"]).findings("`BREAK_LINE`", is_code=False) == []
    assert scan.file_name("Sources/A/OriginGate+Queue.swift") and scan.file_name("Sources/A/Sessions+Ways.swift")
    assert scan.file_name("Sources/A/Sessions+Queue.swift") is None


def test_headless_first_lines_are_found():
    """The sentences of the left column were in the code once."""
    for line in [
        "By what a replaced file is told from the one before it, without reading it.",
        "To whom the answer goes.",
        "In which of their answers advice is looked for.",
        "For whom the fetch is.",
        "What of `status` anybody may see.",
        "What those who have not knocked for long still have to be told of.",
        "What is wrong.",
        "Whoever waits for it.",
        "Whose session it is.",
        "Where what waits goes.",
        "Whether nobody waits.",
        "Those that refuse a request: redirects, and the statuses 401 and 403.",
        "One that wants to go.",
        "Of a shorter life nothing is renewed before somebody needs it.",
        "As it should be, or the rule does not apply.",
    ]:
        assert wording.is_headless(line), line


def test_first_lines_with_a_subject_pass():
    for line in [
        "Identifies a file version without reading the file (device, inode, size, mtime).",
        "Whether the connection is open.",
        "How many records may be queued.",
        "How long a write may take.",
        "When the session expires; nil if it does not.",
        "The origin to which requests may go.",
        "One connection to the store.",
        "Those records",
        "Whatsapp",
        "Offline tokens.",
        "In seconds.",
        "A Boolean value that indicates whether nobody waits.",
    ]:
        assert not wording.is_headless(line), line


def test_only_the_first_line_of_a_doc_comment_counts():
    text = "/// The token.\n/// What follows.\nlet a = 1\n\n  /// What is this.\n  let b = 1 /// What?\n// What is that.\n"
    assert [line for line, _ in wording.headless_findings(text)] == [5]


def test_headless_strings_for_users_are_found():
    """The first three were descriptions of members once."""
    text = 'docs = [\n  "a": "Whom the token must be for",\n  "b": "By which it is found",\n]\nlet c = \"\"\"\n  Of the step to go on with\n  \"\"\"'
    assert [line for line, _ in wording.headless_strings(text)] == [2, 3, 5]
    assert not wording.headless_strings('"a": "The client", "Whether it is open", "One of: a, b"'.replace("One of", "one of"))
    files = [name for name in wording.repository_files() if name.startswith(wording.STRINGS_FOR_USERS)]
    assert len(files) > 60, "the scan of the strings finds too few files"


def test_long_lines_count_where_they_are_comments():
    wide = "x" * 121
    swift = f"/// {wide}\nlet a = \"{wide} // no\"\nlet b = 1 // {wide}\n"
    assert wording.long_comment_lines(swift, ".swift") == [1, 3]
    assert wording.long_comment_lines(f"/* a\n * {wide}\n */\n", ".c") == [2]
    assert wording.long_comment_lines(f'"""{wide}"""\n\nx = "# {wide}"\n# {wide}\n', ".py") == [1, 4]
    assert wording.long_comment_lines(f"#!/bin/{wide}\n# {wide}\necho '# {wide}'\n", ".sh") == [2]
    assert wording.long_comment_lines("// " + "é" * 117 + "\n", ".js") == [], "columns are characters, not bytes"


def test_exempt_parts_of_files_keep_the_numbers_of_lines():
    assert wording.held_text("CHANGELOG.md", "## Unreleased\na\n## 0.1.0\nb\n") == "## Unreleased\na\n"
    assert wording.held_text("proto-docs/glossary.md", GLOSSARY).count("refused") < 10
    example = '{\n "title": "a",\n "body": "b"\n}\n'
    assert wording.held_text("proto-docs/examples/a.json", example) == '\n "title": "a",\n\n\n'


def test_a_total_may_only_shrink():
    """Catches an update that would record a new finding."""
    assert differences({"a": 2, "b": 1, "c": 1}, {"a": 1, "b": 2, "d": 1}) == ({"a": 2, "c": 1}, {"b": 1}, ["d"])


# MARK: the command line


def update(now, before):
    more, fewer, gone = differences(now, before)
    if more and ALLOWED.exists():
        for rule, number in more.items():
            recorded_number = before.get(rule, 0)
            print(f"{rule}: {number} findings, {recorded_number} recorded; --list {rule} shows them", file=sys.stderr)
        return 1
    ALLOWED.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
    print(f"{len(fewer)} totals are lower, {sum(now.values())} findings remain")
    return 0


def main():
    parser = argparse.ArgumentParser(description="The wording rules of proto-docs/glossary.md.")
    parser.add_argument("--list", metavar="RULE", help="print each finding of the rule, or of all")
    parser.add_argument("--update", action="store_true", help="record lower totals")
    parser.add_argument("paths", nargs="*", help="with --list: only files under these paths")
    options = parser.parse_args()
    findings = wording.scan()
    now, before = wording.totals(findings), recorded()
    if options.update:
        return update(now, before)
    if options.list:
        if options.list not in now and options.list != "all":
            parser.error(f"no rule {options.list}; there are all, {', '.join(now)}")
        for finding in findings:
            if options.list in {"all", finding.rule} and (
                not options.paths or any(finding.file.startswith(path) for path in options.paths)
            ):
                rule = f"{finding.rule}: " if options.list == "all" else ""
                print(f"{finding.file}:{finding.line}: {rule}{finding.text}")
        return 0
    for rule, number in now.items():
        print(f"{rule:14} {number:6} {before.get(rule, 0):6} recorded")
    print(f"{'all':14} {sum(now.values()):6} {sum(before.values()):6} recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
