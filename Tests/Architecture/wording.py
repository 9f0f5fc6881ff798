"""Finds the words that proto-docs/glossary.md replaces, headless doc comments and strings, and long comment lines.

The rules are the tables of the glossary below "Words not used here"; this file decides what is scanned, and how. It is
a report: nothing fails by it. Standard library only.

    python3 Tests/Architecture/wording.py                the number of findings of each rule (`make wording`)
    python3 Tests/Architecture/wording.py --list RULE    each finding of a rule, or of `all`; PATH... restricts it
"""

import argparse
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "proto-docs" / "glossary.md"
HEADING = "## Words not used here"
COLUMNS = 120

# Made from what is scanned elsewhere: the configuration, the protocol, the examples, the benchmark's report, the
# asynchronous modules of the Python client.
GENERATED = {
    "clients/python/src/postern_auth/_async_methods.py",
    "clients/python/src/postern_auth/_auth.py",
    "clients/python/src/postern_auth/_base.py",
    "clients/python/src/postern_auth/_fake_client.py",
    "clients/python/src/postern_auth/_httpx.py",
    "clients/python/src/postern_auth/_methods.py",
    "clients/python/src/postern_auth/reasons.py",
    "clients/python/src/postern_auth/types.py",
    "proto-docs/benchmarks.md",
    "proto-docs/configuration.schema.json",
    "proto-docs/openrpc.json",
    "proto-docs/postern.example.yaml",
}
GENERATED_FOLDERS = ("proto-docs/reference/",)

# Decision records up to this number keep the words they were written in.
LAST_EXEMPT_DECISION = 17

# Below the heading of a released version the change log stays as it was.
RELEASED = re.compile(r"^## \[?\d", re.MULTILINE)

CODE = {".swift", ".c", ".h"}
SCRIPTS = {".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh"}
# Folders where scripts and everything else is for users, beside Swift, C and Markdown, which are read everywhere.
FOR_USERS = ("clients/", "deploy/", "examples/", "proto-docs/tool/", "Tests/Benchmarks/", "Tests/Demo/")
FOR_USERS_SUFFIXES = SCRIPTS | {".yaml", ".service", ".socket", ".html", ".css", ".json", ""}
# The members of an example that were written by hand.
EXAMPLE_TEXT = re.compile(r'^ *"(?:title|text)": .*$', re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    rule: str
    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Rule:
    """One row of the glossary's table of words."""

    name: str
    phrases: tuple[tuple[str, ...], ...]
    allowed: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Glossary:
    rules: tuple[Rule, ...]
    names: tuple[str, ...]
    wire_names: frozenset[str]


# MARK: the glossary


def table(text, first):
    """The rows of the table whose first heading is `first`: a list of lists of cells."""
    rows = re.search(rf"^\| {re.escape(first)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert rows, f"glossary.md: no table that starts with the column {first!r}"
    return [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows.group(1).splitlines()]


def spans(cell):
    return re.findall(r"`([^`]+)`", cell)


def phrase(text):
    """The words of a phrase in lower case; an ellipsis stands for up to two words."""
    return tuple(word.lower().rstrip(":") for word in text.split())


def read_glossary(text):
    text = text.partition(HEADING)[2]
    assert text, f"glossary.md: no heading {HEADING!r}"
    rules = []
    for name, words, _, allowed in table(text, "rule"):
        rules.append(Rule(spans(name)[0], tuple(map(phrase, spans(words))), tuple(map(phrase, spans(allowed)))))
    names = [name for row in table(text, "names") for name in spans(row[0])]
    wire_names = {name for row in table(text, "wire name") for name in spans(row[0])}
    return Glossary(tuple(rules), tuple(names), frozenset(wire_names))


# MARK: words


TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_'’]*")
BEFORE_TOKEN, AFTER_TOKEN = re.compile(r"[A-Za-z0-9_]"), re.compile(r"[A-Za-z0-9_'’]")
PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+(?:['’][a-z]+)*|[A-Z]+")
# The characters between two words of one phrase: white space, marks of comments, quotes and emphasis, no full stop.
GAP = re.compile(r"[\s/#*>:\"`_-]*")
NEAR = 2


def words_of(token):
    """The words of an identifier: `beginRenewal`, `begin_renewal` and `BeginRenewal` are begin and renewal."""
    return tuple(part.lower().replace("’", "'") for part in PARTS.findall(token))


class WordScan:
    """Finds the phrases of the rules.

    Each phrase has an anchor, its longest word. The tokens of a file that contain an anchor are looked up by their
    text, and words are compared only around them.
    """

    def __init__(self, glossary):
        self.wire_names = glossary.wire_names
        self.anchors = {}
        for rule in glossary.rules:
            for words in rule.phrases:
                self.anchors.setdefault(max(words, key=len), []).append((words, rule))
        self.known = {}

    def findings(self, text):
        """(rule's name, offset, phrase) for each."""
        found = []
        for token in set(TOKEN.findall(text)):
            if token not in self.known:
                self.known[token] = self.look(token)
            if self.known[token]:
                for start in offsets(text, token):
                    found += self.around(text, start, token)
        return found

    def look(self, token):
        """The phrases whose anchor is in a token, each with the words of the token up to there, and from there on."""
        words = words_of(token)
        hits = [(index, hit) for index, word in enumerate(words) for hit in self.anchors.get(word, ())]
        return [(words[:index], words[index:], wanted, rule) for index, (wanted, rule) in hits]

    def around(self, text, start, token):
        if self.is_wire_name(text, start, token):
            return
        before = after = None
        rules = set()
        for inside, rest, wanted, rule in self.known[token]:
            if rule.name in rules:
                continue
            if len(wanted) > 1 or rule.allowed:
                before = preceding(text, start, 5) if before is None else before
                after = following(text, start + len(token), 6) if after is None else after
                if not covers(before + inside, rest + after, wanted):
                    continue
                if any(covers(before + inside, rest + after, allowed) for allowed in rule.allowed):
                    continue
            rules.add(rule.name)
            yield rule.name, start, " ".join(wanted)

    def is_wire_name(self, text, start, token):
        """A name of several words wherever it is whole; a single word as a code span, a string, or a key."""
        if token not in self.wire_names:
            return False
        if len(words_of(token)) > 1:
            return True
        before, after = text[start - 1 : start], text[start + len(token) : start + len(token) + 1]
        return before == after and before in {'"', "`", "'", "."} or after == ":" and before in {" ", "`", "\n", "."}


def offsets(text, token):
    """Where the token is whole."""
    start = text.find(token)
    while start >= 0:
        end = start + len(token)
        if not AFTER_TOKEN.match(text, end) and not (start and BEFORE_TOKEN.match(text, start - 1)):
            yield start
        start = text.find(token, end)


def covers(before, after, wanted):
    """Whether the phrase is there and takes the first word of `after`, wherever in the phrase it is."""
    if len(wanted) == 1:
        return after[0] == wanted[0]
    words = before + after
    return any(
        length > len(before) - first for first in range(len(before) + 1) for length in lengths(words[first:], wanted)
    )


def following(text, end, count):
    words = ()
    for match in TOKEN.finditer(text, end, end + 120):
        if not GAP.fullmatch(text, end, match.start()):
            break
        words += words_of(match.group())
        end = match.end()
        if len(words) >= count:
            break
    return words


def preceding(text, start, count):
    base = max(0, start - 80)
    words, end = (), start
    for match in reversed(list(TOKEN.finditer(text, base, start))):
        if not GAP.fullmatch(text, match.end(), end):
            break
        words = words_of(match.group()) + words
        end = match.start()
        if len(words) >= count:
            break
    return words


def lengths(stream, wanted):
    """The numbers of words at the front of the stream that the phrase may take: several where it has an ellipsis."""
    front, ellipsis, rest = split(wanted)
    if stream[: len(front)] != front:
        return set()
    if not ellipsis:
        return {len(front)}
    return {
        len(front) + skipped + length
        for skipped in range(NEAR + 1)
        for length in lengths(stream[len(front) + skipped :], rest)
    }


def split(wanted):
    if "…" not in wanted:
        return wanted, False, ()
    gap = wanted.index("…")
    return wanted[:gap], True, wanted[gap + 1 :]


# MARK: names of types and members


# Comments and strings of Swift and C. An interpolation is left out with its string.
NOT_CODE = re.compile(r'"""(?:[^\\]|\\[\s\S])*?"""|#+"(?:[^\n])*?"#+|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*[\s\S]*?\*/')
CODE_SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```swift\n(.*?)^```", re.MULTILINE | re.DOTALL)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class NameScan:
    """Finds identifiers that contain a replaced name word by word: `OriginGateTests`, but not `originGates`.

    A name with a capital is a type's: it counts in code, in code spans and in file names. One without is a member's:
    it counts in code only. One with a plus is the topic of a file of extensions. Names on the wire do not count.
    """

    def __init__(self, names, wire_names=()):
        self.wire_names = frozenset(wire_names)
        self.topics = {name for name in names if name.startswith("+")}
        self.firsts = {}
        for name in names:
            if name not in self.topics:
                words = words_of(name)
                self.firsts.setdefault(words[0], []).append((words, name))
        self.known = {}

    def name_in(self, identifier):
        if identifier not in self.known:
            self.known[identifier] = self.look(identifier)
        return self.known[identifier]

    def look(self, identifier):
        if identifier in self.wire_names:
            return None
        words = words_of(identifier)
        is_type = identifier[:1].isupper()
        for index, word in enumerate(words):
            for wanted, name in self.firsts.get(word, ()):
                if words[index : index + len(wanted)] == wanted and (is_type or not name[0].isupper()):
                    return name
        return None

    def findings(self, text, is_code):
        """(offset, identifier) for each."""
        found = []
        if not any(map(self.name_in, set(IDENTIFIER.findall(text)))):
            return found

        def look(start, end, types_only):
            for match in IDENTIFIER.finditer(text, start, end):
                name = self.name_in(match.group())
                if name and not (types_only and name[0].islower()):
                    found.append((match.start(), match.group()))

        def look_at_prose(start, end):
            for span in CODE_SPAN.finditer(text, start, end):
                look(*span.span(1), types_only=True)

        if is_code:
            end = 0
            for match in NOT_CODE.finditer(text):
                look(end, match.start(), False)
                if match.group()[0] == "/":
                    look_at_prose(*match.span())
                end = match.end()
            look(end, len(text), False)
        else:
            end = 0
            for match in FENCE.finditer(text):
                look_at_prose(end, match.start())
                look(*match.span(1), types_only=True)
                end = match.end()
            look_at_prose(end, len(text))
        return found

    def file_name(self, path):
        """What is wrong with the file's name, if anything is."""
        stem, plus, topic = Path(path).stem.partition("+")
        if plus and f"+{topic}" in self.topics:
            return f"+{topic}"
        return next((part for part in (stem, topic) if part and self.name_in(part)), None)


# MARK: headless doc comments


# A first line that starts with a relative clause, or with a pronoun in the place of the noun it is about.
HEADLESS = [
    # By what support finds the request. To whom, from which, for how long.
    r"(About|After|Against|Among|As|At|Before|Behind|Beside|By|For|From|In|Into|Of|On|Over|Since|Through|To|Under|Until"
    r"|Upon|With|Without)(,| and)? (what|whom|which|whose|whoever|whatever|how)\b",
    # What is wrong. Whom the token is for. Whose it is.
    r"(What|Whatever|Who|Whoever|Whom|Whomever|Whose)\b",
    # Where what waits goes; how whoever asks is told; whether nobody waits.
    r"(Where|When|Why|How|Which|Whether) (of )?"
    r"(what|whatever|who|whoever|whom|whose|nobody|somebody|those|that which)\b",
    # Those that refuse a request. One that wants to go. That of a user.
    r"(Those|That|One|Ones|Some|Such) (of|that|who|whom|whose|which|as|in|with|without)\b",
    # Of a shorter life nothing is renewed: what should be the subject stands first and is none.
    r"Of \b",
    # As it should be, or the rule does not apply.
    r"As (it|they|he|many|much|that|this)\b",
]
HEADLESS_LINE = re.compile("|".join(f"(?:{pattern})" for pattern in HEADLESS))


def is_headless(line):
    return bool(HEADLESS_LINE.match(line))


def headless_findings(text):
    """(line, text) of each doc comment whose first line is headless."""
    if "///" not in text:
        return []
    found, was_comment = [], False
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.lstrip()
        is_comment = bare.startswith("///")
        if is_comment and not was_comment and is_headless(bare[3:].lstrip()):
            found.append((number, bare[3:].strip()))
        was_comment = is_comment
    return found


# What callers and operators read: summaries and members of the protocol, keys of the configuration, `--help`.
STRINGS_FOR_USERS = ("Sources/PosternProtocol/", "Sources/PosternConfiguration/Model/", "Sources/postern/Commands/")
SWIFT_STRING = re.compile(r'"""\n\s*(?P<block>[^\n]*)|"(?P<line>(?:[^"\\\n]|\\.)*)"')


def headless_strings(text):
    """(line, text) of each string of Swift whose first line is headless."""
    found = []
    for match in SWIFT_STRING.finditer(text):
        line = match["block"] or match["line"] or ""
        if is_headless(line):
            found.append((text.count("\n", 0, match.start()) + 1, line))
    return found


# MARK: long comment lines


COMMENT_START = re.compile(r"\s*(?://|/\*|\*(?:\s|/))")
SLASHES = re.compile(r"\s(?://|/\*)")
LONG = re.compile(rf"^.{{{COLUMNS + 1},}}$", re.MULTILINE)
PYTHON_TEXT = re.compile(r'"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|`[^`]*`')


def long_comment_lines(text, suffix):
    """The numbers of the lines of comments, docstrings included, that are longer than the project asks for."""
    wide = {text.count("\n", 0, match.start()) + 1: match.group() for match in LONG.finditer(text)}
    if not wide:
        return []
    if suffix == ".py":
        return sorted(wide.keys() & python_comment_lines(text))
    if suffix in {".sh", ""}:
        return sorted(number for number, line in wide.items() if re.match(r"\s*@?#(?!!)", line))
    return sorted(
        number
        for number, line in wide.items()
        if COMMENT_START.match(line) or SLASHES.search(STRING.sub('""', line))
    )


def python_comment_lines(text):
    """The numbers of the lines with a comment, or of a docstring."""
    lines = set()
    for match in PYTHON_TEXT.finditer(text):
        start, end = match.span()
        is_comment = match.group()[0] == "#"
        is_docstring = match.group().startswith('"""') and not text[text.rfind("\n", 0, start) + 1 : start].strip()
        if is_comment or is_docstring:
            first = text.count("\n", 0, start) + 1
            lines.update(range(first, first + text.count("\n", start, end) + 1))
    return lines


# MARK: the tree


def repository_files():
    """Every file that is or would be committed, as a path from the root. No symbolic links."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):  # a tarball has no git
        names = []
        for folder, inner, files in os.walk(ROOT):
            skipped = {".git", "node_modules", "__pycache__"}
            inner[:] = [name for name in inner if name not in skipped and not name.startswith(".build")]
            names += [os.path.relpath(os.path.join(folder, file), ROOT) for file in files]
    return sorted(name for name in set(names) if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink())


def is_scanned_for_words(name):
    path = Path(name)
    if name in GENERATED or name.startswith(GENERATED_FOLDERS):
        return False
    if decision := re.match(r"proto-docs/decisions/(\d+)-", name):
        return int(decision.group(1)) > LAST_EXEMPT_DECISION
    if name.startswith("proto-docs/examples/"):
        return path.suffix == ".json"
    if path.suffix in CODE | {".md"} or path.name == "Makefile" or name == ".ci/run":
        return True
    if re.match(r"clients/\w+/tests?/", name) or path.name == "LICENSE":
        return False
    return name.startswith(FOR_USERS) and path.suffix in FOR_USERS_SUFFIXES


def is_scanned_for_columns(name):
    return Path(name).suffix in CODE | SCRIPTS or Path(name).name == "Makefile" or name == ".ci/run"


def held_text(name, text):
    """The part of a file that the rules hold for; lines keep their numbers."""
    if name == "CHANGELOG.md":
        released = RELEASED.search(text)
        return text[: released.start()] if released else text
    if name == "proto-docs/glossary.md":
        return text.partition(HEADING)[0]
    if name.startswith("proto-docs/examples/"):
        kept = {text.count("\n", 0, match.start()): match.group() for match in EXAMPLE_TEXT.finditer(text)}
        return "\n".join(kept.get(number, "") for number in range(text.count("\n") + 1))
    return text


def scan(names=None):
    """Every finding in the tree, in the order of files and lines."""
    glossary = read_glossary(GLOSSARY.read_text(encoding="utf-8"))
    words, types = WordScan(glossary), NameScan(glossary.names, glossary.wire_names)
    findings = []
    for name in repository_files() if names is None else names:
        for_words, for_columns = is_scanned_for_words(name), is_scanned_for_columns(name)
        if not for_words and not for_columns:
            continue
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        suffix = Path(name).suffix
        lines = Lines(name, text)
        found = []
        if for_columns:
            found += [lines.at_line("columns", number) for number in long_comment_lines(text, suffix)]
        if for_words:
            held = held_text(name, text)
            found += [lines.at_offset(rule, offset) for rule, offset, _ in words.findings(held)]
            if suffix in CODE | {".md"}:
                found += [lines.at_offset("names", offset) for offset, _ in types.findings(held, suffix in CODE)]
            if suffix == ".swift":
                found += [lines.at_line("headless", number) for number, _ in headless_findings(held)]
                if name.startswith(STRINGS_FOR_USERS):
                    found += [lines.at_line("headless", number) for number, _ in headless_strings(held)]
                if wrong := types.file_name(name):
                    found.append(Finding("names", name, 1, f"the file is called after {wrong}"))
        findings += sorted(found, key=lambda finding: finding.line)
    return findings


class Lines:
    """Line numbers and texts of one file, worked out when the first finding needs them."""

    def __init__(self, name, text):
        self.name, self.text, self.lines = name, text, None

    def at_line(self, rule, number):
        if self.lines is None:
            self.lines = self.text.split("\n")
        return Finding(rule, self.name, number, self.lines[number - 1].strip())

    def at_offset(self, rule, offset):
        return self.at_line(rule, self.text.count("\n", 0, offset) + 1)


def rule_names():
    """Every rule, in the order of the glossary, then those that are not about words."""
    glossary = read_glossary(GLOSSARY.read_text(encoding="utf-8"))
    return [rule.name for rule in glossary.rules] + ["names", "headless", "columns"]


def totals(findings):
    counts = dict.fromkeys(rule_names(), 0)
    for finding in findings:
        counts[finding.rule] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description="The words that proto-docs/glossary.md replaces.")
    parser.add_argument("--list", metavar="RULE", choices=["all", *rule_names()], help="print each finding of the rule, or of all")
    parser.add_argument("paths", nargs="*", help="with --list: only files under these paths")
    options = parser.parse_args()
    findings = scan()
    if not options.list:
        counts = totals(findings)
        for rule, number in counts.items():
            print(f"{rule:14} {number:6}")
        print(f"{'all':14} {sum(counts.values()):6}")
        return
    for finding in findings:
        if options.list in {"all", finding.rule} and (not options.paths or finding.file.startswith(tuple(options.paths))):
            print(f"{finding.file}:{finding.line}: {finding.rule}: {finding.text}")


if __name__ == "__main__":
    main()
