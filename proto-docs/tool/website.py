"""The documents as a static web site that needs no server and no network.

Needs Python-Markdown and Pygments (Debian packages).

    python3 proto-docs/tool/website.py --into .build/site [--swift .build/docc]
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import markdown
from markdown.extensions.toc import TocExtension
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

import swiftdoc

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(__file__).resolve().parent / "assets"
#: The list at the side: groups of paths, each a name or a pattern. A page that none of them names comes last.
NAVIGATION: List[Tuple[str, List[str]]] = [
    ("Start", [
        "README.md", "proto-docs/five-minutes.md", "proto-docs/examples.md", "proto-docs/README.md", "proto-docs/glossary.md"]),
    ("Guides", [
        "proto-docs/providers.md", "proto-docs/without-a-secret.md", "proto-docs/on-behalf-of.md", "proto-docs/gateway.md", "proto-docs/endpoints.md", "proto-docs/protect-an-api.md", "proto-docs/validate-request.md", "proto-docs/forward-authentication.md", "proto-docs/sessions.md", "proto-docs/refresh-across-processes.md", "proto-docs/step-up.md", "proto-docs/adobe-pass.md", "proto-docs/socat.md",
        "proto-docs/containers.md", "proto-docs/mac.md", "deploy/README.md"]),
    ("Migration", ["proto-docs/migration/README.md", "proto-docs/migration/*.md"]),
    ("Examples", ["examples/*/*.md"]),
    ("Clients", [
        "proto-docs/python.md", "clients/python/README.md", "clients/python/*.md", "clients/python/*/*.md", "proto-docs/node.md", "clients/node/README.md", "clients/node/*.md",
        "clients/node/*/*.md", "proto-docs/swift.md", "proto-docs/other-languages.md", "clients/*/*.md", "clients/*/*/*.md"]),
    ("Methods", ["proto-docs/reference/README.md", "proto-docs/reference/*.md"]),
    ("Protocol", ["proto-docs/wire.md", "proto-docs/framing.md", "proto-docs/errors.md", "proto-docs/preauthorization.md"]),
    ("Running it", [
        "proto-docs/troubleshooting.md", "proto-docs/explain.md", "proto-docs/deployment.md", "proto-docs/configuration.md", "proto-docs/operations.md", "proto-docs/proxy.md", "proto-docs/health.md", "proto-docs/limits.md",
        "proto-docs/observability.md", "proto-docs/audit.md", "proto-docs/hardening.md", "proto-docs/threat-model.md", "proto-docs/isolation.md", "SECURITY.md", "proto-docs/upgrading.md", "proto-docs/platforms.md",
        "proto-docs/benchmarks.md", "deploy/*.md", "deploy/*/*.md"]),
    ("More", ["proto-docs/*.md"]),
    ("Working on it", [
        "CONTRIBUTING.md", "proto-docs/architecture.md", "proto-docs/modules.md", "Sources/*/README.md", "Tests/*/README.md",
        "CHANGELOG.md", "*.md"]),
    ("Decisions", ["proto-docs/decisions/*.md"]),
]
#: How much a word found in a group counts in the search: guides and the protocol rank above details and history.
WEIGHTS = {"Methods": 0.55, "Swift reference": 0.4, "Migration": 0.8, "Working on it": 0.5, "Decisions": 0.4, "Start": 1.1, "Guides": 1.1}
#: What a page is called in the list at the side, where that is not its title.
LABELS = {
    "README.md": "Home", "proto-docs/README.md": "Overview", "proto-docs/reference/README.md": "All methods",
    "proto-docs/migration/README.md": "All", "proto-docs/python.md": "Python", "proto-docs/node.md": "Node", "proto-docs/swift.md": "Swift",
    "proto-docs/other-languages.md": "Other languages", "proto-docs/refresh-across-processes.md": "Several processes", "proto-docs/adobe-pass.md": "Adobe Pass", "proto-docs/without-a-secret.md": "Without a secret", "proto-docs/on-behalf-of.md": "On behalf of", "proto-docs/gateway.md": "The gateway", "proto-docs/endpoints.md": "Sockets for one child", "proto-docs/protect-an-api.md": "Protect an API", "proto-docs/forward-authentication.md": "Forward authentication", "SECURITY.md": "Security policy",
}
#: The order of the methods is that of the reference's own index.
REFERENCE = "proto-docs/reference/README.md"
#: Its terms are found by the search, and its other words lead to them.
GLOSSARY = "proto-docs/glossary.md"
#: Shown with every line linkable, and searchable by key.
EXAMPLE = "proto-docs/postern.example.yaml"
HIGHLIGHTED_BYTES = 100_000
#: Stands for a code block while the rest is rendered.
CODE = "code-block-number-"


class Page(NamedTuple):
    source: str
    url: str
    title: str
    body: str
    contents: List[dict]


# MARK: paths


def listed_files() -> List[str]:
    """Files that are or would be committed."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        return sorted(name for name in names if name and (ROOT / name).is_file())
    except (OSError, subprocess.CalledProcessError):  # a tarball has no git
        found = []
        for folder, names, files in os.walk(ROOT):
            names[:] = [name for name in names if not name.startswith(".build") and name not in {".git", "node_modules"}]
            found += [(Path(folder) / name).relative_to(ROOT).as_posix() for name in files]
        return sorted(found)


def url_of(source: str) -> str:
    """The path of a file of the repository on the site."""
    if source == "README.md":
        return "index.html"
    if source == "proto-docs/README.md":
        return "documentation.html"
    path = source[len("proto-docs/"):] if source.startswith("proto-docs/") else source
    if path.endswith("README.md"):
        return path[: -len("README.md")] + "index.html"
    return path[:-3] + ".html" if path.endswith(".md") else f"files/{path}.html"


def relative(url: str, page: str) -> str:
    """`url` as `page` links it."""
    return os.path.relpath(url, os.path.dirname(page) or ".")


def navigation(files: List[str]) -> List[Tuple[str, List[str]]]:
    # The Swift reference is a site of its own, and templates are no pages.
    pages = [name for name in files if name.endswith(".md") and ".docc/" not in name and not name.startswith(".github/")]
    index = (ROOT / REFERENCE).read_text(encoding="utf-8") if (ROOT / REFERENCE).is_file() else ""
    position = {f"proto-docs/reference/{name}": number for number, name in enumerate(re.findall(r"\]\(([\w.]+\.md)\)", index))}
    named = {path for _, patterns in NAVIGATION for path in patterns}
    taken: set = set()
    groups = []
    for title, patterns in NAVIGATION:
        group = []
        for pattern in patterns:
            matching = [name for name in pages if name == pattern or (
                Path(name).match(pattern) and name.count("/") == pattern.count("/") and name not in named)]
            matching.sort(key=lambda name: position.get(name, 0))
            group += [name for name in matching if name not in taken and not name.endswith("0000-template.md")]
            taken.update(matching)
        if group:
            groups.append((title, group))
    missed = [name for name in pages if name not in taken]
    if missed:
        groups.append(("Further pages", missed))
    return groups


# MARK: Markdown


def slug(text: str, separator: str = "-") -> str:
    """GitHub's anchors, which the links of the documents are written for."""
    return re.sub(r"[^\w\- ]", "", html.unescape(text).lower().strip()).replace(" ", separator)


def unique(identifier: str, used: set) -> str:
    found, count = identifier, 0
    while found in used:
        count += 1
        found = f"{identifier}-{count}"
    used.add(found)
    return found


def prepared(text: str) -> Tuple[str, List[Tuple[str, str]]]:
    """The text in the syntax of Python-Markdown, which accepts less than GitHub, and its code blocks (language, code).

    A paragraph that names the block replaces each of them, so that they can be in lists."""
    lines: List[str] = []
    blocks: List[Tuple[str, str]] = []
    source = iter(text.splitlines())
    before, in_loose_item = "", False
    for line in source:
        if opening := re.match(r"( *)(```+|~~~+) *([\w+-]*)", line):
            indent, fence, language = opening.groups()
            code = []
            for inner in source:
                if inner.strip() == fence:
                    break
                code.append(inner.removeprefix(indent))
            lines += ["", f"{indent}{CODE}{len(blocks)}.", ""]
            blocks.append((language, "\n".join(code)))
            before = ""
            continue
        if before.strip():
            begins_table = line.startswith("|") and not before.startswith("|")
            begins_list = re.match(r"([-*+]|1\.) ", line) and not re.match(r"\s|[-*+] |\d+\. |\|", before)
            next_item = in_loose_item and re.match(r"([-*+]|\d+\.) ", line)
            if begins_table or begins_list or next_item:
                lines.append("")
        elif re.match(r" +\S", line):
            in_loose_item = True  # a further paragraph of a list's item
        if re.match(r"\S", line):
            in_loose_item = False
        if line.startswith("|"):
            line = re.sub(r"`[^`]+`", lambda code: code.group(0).replace(r"\|", "|"), line)
        lines.append(line)
        before = line
    return "\n".join(lines) + "\n", blocks


def console(code: str) -> str:
    """A console session: commands are highlighted as shell, output is plain; only the commands are copied."""
    out, command, ends, prompt = [], [], None, ""

    def flush() -> None:
        if command:
            text = "\n".join(command)
            shell = highlight(text, get_lexer_by_name("bash"), HtmlFormatter(nowrap=True)).rstrip("\n")
            out.append(f'<span class="cmd" data-copy="{html.escape(text)}"><span class="prompt">{prompt}</span>{shell}</span>')
            command.clear()

    def is_open() -> bool:
        text = re.sub(r"\\.|<<'?\w+'?", "", "\n".join(command))
        without_double = re.sub(r"\"[^\"]*\"", "", text)
        return (text.rstrip().endswith(("|", "{", "&&")) or command[-1].endswith("\\") or without_double.count("'") % 2 == 1
                or text.count("{") > text.count("}") and command[0].endswith("{"))

    for line in code.rstrip("\n").split("\n"):
        if ends is not None:
            command.append(line)
            if line.strip() == ends:
                ends = None
            continue
        if command and is_open():
            command.append(line)
        elif line.startswith(("$ ", "# ")):
            flush()
            prompt = line[:2]
            command.append(line[2:])
        else:
            flush()
            out.append(f'<span class="out">{html.escape(line)}</span>')
            continue
        heredoc = re.search(r"<<-?\s*['\"]?(\w+)", line)
        ends = heredoc.group(1) if heredoc else None
    flush()
    return "\n".join(out)


def code_block(language: str, code: str) -> str:
    if language == "console":
        inner = console(code)
    else:
        try:
            lexer = get_lexer_by_name(language or "text")
        except ClassNotFound:
            lexer = get_lexer_by_name("text")
        inner = highlight(code, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")
    return f'<div class="code"><pre tabindex="0"><code>{inner}</code></pre></div>'


def rendered(source: str, text: Optional[str] = None) -> Page:
    """`text` where that is not a file's."""
    text = (ROOT / source).read_text(encoding="utf-8") if text is None else text
    used: set = set()
    converter = markdown.Markdown(
        extensions=["tables", "sane_lists", TocExtension(slugify=lambda value, separator: value)], tab_length=2)
    simple, blocks = prepared(text)
    body = converter.convert(simple)
    contents: List[dict] = []

    def heading(match: "re.Match[str]") -> str:
        level, inner = match.group(1), match.group(2)
        plain = html.unescape(re.sub(r"<[^>]+>", "", inner))
        identifier = unique(slug(plain), used)
        if level in "234":
            contents.append({"level": int(level), "id": identifier, "text": plain})
        link = f'<a class="anchor" href="#{identifier}" aria-label="Link to this section">#</a>' if level != "1" else ""
        return f'<h{level} id="{identifier}">{inner}{link}</h{level}>'

    body = re.sub(r"<h([1-6])(?: id=\"[^\"]*\")?>(.*?)</h\1>", heading, body, flags=re.DOTALL)
    body = re.sub(r"<table>", '<div class="table" tabindex="0" role="region" aria-label="Table"><table>', body)
    body = body.replace("</table>", "</table></div>")
    body = re.sub(r"<td>.*?</td>", breakable, body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.DOTALL)
    body = re.sub(rf"<p>{CODE}(\d+)\.</p>|{CODE}(\d+)\.", lambda m: code_block(*blocks[int(m.group(1) or m.group(2))]), body)
    title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.DOTALL)
    plain = html.unescape(re.sub(r"<[^>]+>", "", title.group(1))) if title else source
    if source == "proto-docs/errors.md":
        body = re.sub(
            r"<tr>\n<td>(-?)(\d+)</td>\n<td><code>([\w<>]+)</code></td>",
            r'<tr id="error-\2">' "\n" r"<td>\1\2</td>" "\n" r'<td><a href="#error-\2"><code>\3</code></a></td>', body)
    if source.startswith("proto-docs/reference/"):
        body = re.sub(
            r'<td>-?(\d+)</td>\n<td><a href="\.\./errors\.md#[\w-]*">',
            lambda m: m.group(0).rsplit("#", 1)[0] + f'#error-{m.group(1)}">', body)
    return Page(source, url_of(source), plain, body, contents)


def labelled(body: str) -> str:
    """Tables of three and more columns with the column's heading at each cell: narrow windows show them as lists."""

    def table(match: "re.Match[str]") -> str:
        text = match.group(0)
        head, found, rows = text.partition("<tbody>")
        headings = [plain(cell) for cell in re.findall(r"<th[^>]*>(.*?)</th>", head, re.DOTALL)]
        if not found or len(headings) < 3:
            return text

        def row(match: "re.Match[str]") -> str:
            labels = iter(headings)
            return re.sub(r"<td", lambda _: f'<td data-label="{html.escape(next(labels, ""))}"', match.group(0))

        head = head.replace('<div class="table"', '<div class="table stacked"')
        return head + found + re.sub(r"<tr[ >].*?</tr>", row, rows, flags=re.DOTALL)

    return re.sub(r'<div class="table".*?</table></div>', table, body, flags=re.DOTALL)


#: Where a long name may be broken.
BREAKS = re.compile(r"(?<=[a-zA-Z0-9][_./])(?=[a-zA-Z])|(?<=[a-z]{2})(?=[A-Z][a-z])")


def breakable(cell: "re.Match[str]") -> str:
    """A table cell whose names may be broken where a person would break them, and whose long texts anywhere."""
    text = re.sub(r"<code>(?=[^<]* )([^<]{26,})</code>", r'<code class="sentence">\1</code>', cell.group(0))
    return re.sub(r"<code>[^<]{16,}</code>", lambda code: BREAKS.sub("<wbr>", code.group(0)), text)


# MARK: links


class Site:
    """Pages, the files they link to, and the frame around each."""

    def __init__(self, swift: Optional[Path] = None) -> None:
        self.files = listed_files()
        self.groups = navigation(self.files)
        self.pages = {name: rendered(name) for _, group in self.groups for name in group}
        made = swiftdoc.Archive(swift).pages() if swift else {}
        self.pages.update((name, rendered(name, text)) for name, text in made.items())
        if made:
            clients = next((number for number, (title, _) in enumerate(self.groups, 1) if title == "Clients"), len(self.groups))
            self.groups.insert(clients, ("Swift reference", [name for name in made if name.endswith("/README.md")]))
        self.known = {*self.files, *made}
        self.shown: Dict[str, None] = {EXAMPLE: None} if EXAMPLE in self.known else {}
        self.pictures: Dict[str, str] = {}  # their paths on the site

    def link(self, source: str, target: str) -> Optional[str]:
        """A link of `source` as it is on the site; None if its target is not there."""
        if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("#"):
            return target
        path, _, fragment = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if file not in self.known and f"{file}/README.md".removeprefix("./") in self.known:
            file = f"{file}/README.md".removeprefix("./")
        if file not in self.known:
            return "decisions/0001-record-decisions.html" if file == "proto-docs/decisions" else None
        if not file.endswith(".md"):
            self.shown[file] = None
        elif file not in self.pages:
            return None
        return relative(url_of(file), url_of(source)) + (f"#{fragment}" if fragment else "")

    def linked(self, page: Page) -> str:
        def exchange(match: "re.Match[str]") -> str:
            target = self.link(page.source, html.unescape(match.group(1)))
            return f'<a href="{html.escape(target)}">{match.group(2)}</a>' if target else match.group(2)

        def picture(match: "re.Match[str]") -> str:
            file = os.path.normpath(os.path.join(os.path.dirname(page.source), html.unescape(match.group(2))))
            if file not in self.known:
                return match.group(0)
            self.pictures[file] = file.removeprefix("proto-docs/")
            return f"{match.group(1)}{html.escape(relative(self.pictures[file], page.url))}"

        body = re.sub(r'(<img [^>]*\bsrc=")([^"]*)', picture, labelled(page.body))
        return re.sub(r'<a href="([^"]*)">(.*?)</a>', exchange, body, flags=re.DOTALL)

    # The frame

    def sidebar(self, url: str) -> str:
        out = []
        for title, group in self.groups:
            is_here = any(self.pages[name].url == url for name in group)
            folded = len(group) > 6 and title != "Clients" and not is_here
            items = []
            for name in group:
                page = self.pages[name]
                here = ' aria-current="page"' if page.url == url else ""
                label = LABELS.get(name) or re.sub("^From (the )?", "", page.title)
                below = ' class="below"' if title == "Clients" and name not in LABELS else ""
                items.append(f'<li{below}><a href="{relative(page.url, url)}"{here}>{html.escape(label)}</a></li>')
            inner = f"<ul>{''.join(items)}</ul>"
            out.append(f"<details{'' if folded else ' open'}><summary>{title}</summary>{inner}</details>")
        return "".join(out)

    def frame(self, url: str, title: str, body: str, contents: List[dict], around: str = "") -> str:
        root = relative(".", url).rstrip("/")
        root = "" if root == "." else root + "/"
        aside = ""
        if len(contents) > 1:
            items = "".join(
                f'<li class="level-{entry["level"]}"><a href="#{entry["id"]}">{html.escape(entry["text"])}</a></li>'
                for entry in contents if entry["level"] < 4)
            aside = f'<nav class="contents" aria-labelledby="contents-title"><h2 id="contents-title">On this page</h2><ul>{items}</ul></nav>'
        name = "Postern" if url == "index.html" else f"{title} · Postern"
        return TEMPLATE.format(
            title=html.escape(name), root=root, sidebar=self.sidebar(url), body=body, contents=aside, around=around)

    def neighbours(self, url: str) -> str:
        order = [self.pages[name] for _, group in self.groups for name in group]
        here = next((number for number, page in enumerate(order) if page.url == url), None)
        if here is None:  # a page that its own index leads to
            return ""
        out = []
        for label, css, other in (("Previous", "previous", here - 1), ("Next", "next", here + 1)):
            if 0 <= other < len(order):
                page = order[other]
                out.append(f'<a class="{css}" rel="{css[:4]}" href="{relative(page.url, url)}">'
                           f"<span>{label}</span>{html.escape(page.title)}</a>")
        return f'<nav class="neighbours" aria-label="Previous and next page">{"".join(out)}</nav>'

    def write(self, folder: Path) -> int:
        shutil.rmtree(folder, ignore_errors=True)
        written: Dict[str, str] = {}
        for page in self.pages.values():
            written[page.url] = self.frame(
                page.url, page.title, self.linked(page), page.contents, self.neighbours(page.url))
        for source in self.shown:
            written[url_of(source)] = self.frame(url_of(source), source, self.file(source), [])
        for url, text in written.items():
            path = folder / url
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for source, url in self.pictures.items():
            (folder / url).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, folder / url)
        for asset in ASSETS.iterdir():
            if asset.suffix in {".css", ".js", ".svg"}:
                shutil.copy(asset, folder / asset.name)
        (folder / "search-index.js").write_text(
            f"window.posternIndex = {json.dumps(self.index(), ensure_ascii=False, separators=(',', ':'))};\n"
            f"window.posternSynonyms = {json.dumps(synonyms(), ensure_ascii=False, separators=(',', ':'))};\n", encoding="utf-8")
        return len(written)

    def file(self, source: str) -> str:
        text = (ROOT / source).read_text(encoding="utf-8", errors="replace")
        if len(text) > HIGHLIGHTED_BYTES:
            inner = html.escape(text)
        else:
            try:
                lexer = get_lexer_for_filename(source)
            except ClassNotFound:
                lexer = get_lexer_by_name("bash" if text.startswith("#!") else "text")
            inner = highlight(text, lexer, HtmlFormatter(nowrap=True))
        if source == EXAMPLE:
            inner = "\n".join(f'<span id="L{number}">{line}</span>' for number, line in enumerate(inner.rstrip("\n").split("\n"), 1))
        return f'<h1>{html.escape(source)}</h1><div class="code file"><pre tabindex="0"><code>{inner}</code></pre></div>'

    # Search

    def index(self) -> List[list]:
        """[url, page, heading, text, weight] of every section, table name, error and configuration key."""
        entries: List[list] = []
        group_of = {name: title for title, group in self.groups for name in group}
        for page in self.pages.values():
            group = group_of.get(page.source, "Swift reference")
            weight = WEIGHTS.get(group, 1)
            name = page.title
            if page.source.startswith("clients/"):  # each has pages of the same titles
                client = LABELS.get(f"proto-docs/{page.source.split('/')[1]}.md", "")
                name = f"{client}: {name}".removeprefix(": ")
            parts = re.split(r'<h[1-6] id="([^"]*)">(.*?)</h[1-6]>', page.body, flags=re.DOTALL)
            for identifier, heading, body in zip(parts[1::3], parts[2::3], parts[3::3]):
                title = plain(heading.rsplit('<a class="anchor"', 1)[0])
                title = name if title == page.title else title
                own = 1.2 if title == name and group == "Methods" else weight
                entries.append([f"{page.url}#{identifier}", name, title, plain(body), own])
                for row in re.findall(r"<tr>\s*<td>(?:<strong>)?<code>([^\s]+?)</code>(?:</strong>)?</td>(.*?)</tr>", body, re.DOTALL):
                    entries.append([f"{page.url}#{identifier}", name, plain(row[0]), plain(row[1]), weight * 0.8])
                if page.source == GLOSSARY and "<th>term</th>" in body:
                    for term, meaning in re.findall(r"<tr>\s*<td>([^<]+)</td>\s*<td>(.*?)</td>", body, re.DOTALL):
                        entries.append([f"{page.url}#{identifier}", name, plain(term), plain(meaning), 0.45])
            for row in re.findall(r'<tr id="(error-\d+)">(.*?)</tr>', page.body, re.DOTALL):
                code, reason, when, remedy = (plain(cell) for cell in re.findall(r"<td>(.*?)</td>", row[1], re.DOTALL))
                entries.append([f"{page.url}#{row[0]}", page.title, f"{code} {reason}", f"{when} {remedy}", 1.2])
        entries += self.keys()
        return entries

    def keys(self) -> List[list]:
        if EXAMPLE not in self.shown:
            return []
        entries, path, comment = [], [], ""
        for number, line in enumerate((ROOT / EXAMPLE).read_text(encoding="utf-8").splitlines(), 1):
            if note := re.match(r"\s*# (.*)", line):
                comment += " " + note.group(1)
            elif key := re.match(r"( *)(?:- )?#?([A-Za-z]\w*):", line):
                depth = len(key.group(1)) // 2
                path = path[:depth] + [key.group(2)]
                entries.append([f"{url_of(EXAMPLE)}#L{number}", "Configuration key", ".".join(path), comment.strip(), 1])
                comment = ""
            else:
                comment = ""
        return entries


def synonyms() -> Dict[str, str]:
    """What people search for → the words of these documents.

    Both are from the glossary: its words for the search, and those that it replaces."""
    text = (ROOT / GLOSSARY).read_text(encoding="utf-8") if (ROOT / GLOSSARY).is_file() else ""
    tables = {"searched": {}, "rule": {}}
    for first, found in tables.items():
        match = re.search(rf"^\| {first} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
        for row in match.group(1).splitlines() if match else []:
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            if first == "searched":
                found.update((word.strip(), cells[1]) for word in cells[0].split(","))
            elif re.fullmatch(r"[a-z -]+", term := re.split(r"[,;(]", cells[2])[0].strip()):
                found.update((word, term) for word in re.findall(r"`([^`…]+)`", cells[1]))
    return {**tables["rule"], **tables["searched"]}


def plain(fragment: str) -> str:
    text = re.sub(r"</(?:td|th|li|p|pre|h\d)>", " ", fragment)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", text))).strip()


TEMPLATE = (ASSETS / "page.html").read_text(encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--swift", type=Path, help="what make docc has made: the Swift reference, too")
    arguments = parser.parse_args()
    count = Site(arguments.swift).write(arguments.into)
    print(f"{count} pages in {arguments.into}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
