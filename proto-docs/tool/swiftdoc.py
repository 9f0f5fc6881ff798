"""Pages of the Swift reference, as Markdown, from the output of `docc convert` for the modules' comments.

DocC's own site is a program that fetches its pages from a server; these are part of our site and need none. Each
type has a page, with its members, and each article; a module's page lists both.
"""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path
from typing import Any, Dict, List, Optional

FOLDER = "swift"
#: Kinds of symbols with a page of their own.
TYPES = {"module", "struct", "class", "enum", "protocol", "actor"}


#: A longer declaration has a line for each parameter.
WIDTH = 90


def folded(declaration: str) -> str:
    if len(declaration) <= WIDTH or "(" not in declaration:
        return declaration
    head, _, rest = declaration.partition("(")
    out, depth = [f"{head}(\n  "], 1
    for at, character in enumerate(rest):
        depth += (character in "([") - (character in ")]")
        if depth == 0:
            return "".join(out) + "\n" + rest[at:]
        out.append(character)
        if character == "," and depth == 1:
            out.append("\n ")
    return declaration


class Archive:
    """What `make docc` has left."""

    def __init__(self, archive: Path) -> None:
        data = archive / "data"
        self.symbols: Dict[str, Dict[str, Any]] = {}
        for path in sorted(data.glob("documentation/**/*.json")):
            symbol = json.loads(path.read_text(encoding="utf-8"))
            if symbol["metadata"].get("role") != "collectionGroup":
                self.symbols["/" + path.relative_to(data).with_suffix("").as_posix()] = symbol

    def pages(self) -> Dict[str, str]:
        """Path as it would be in the repository → Markdown; modules come first."""
        found = {self.source(url): self.page(url) for url in self.symbols if self.is_page(url)}
        return dict(sorted(found.items(), key=lambda item: (not item[0].endswith("/README.md"), item[0])))

    def is_page(self, url: str) -> bool:
        return self.is_article(url) or url in self.symbols and self.symbols[url]["metadata"].get("symbolKind") in TYPES

    def is_article(self, url: str) -> bool:
        return url in self.symbols and self.symbols[url].get("kind") == "article"

    def source(self, url: str) -> str:
        path = url.replace("/documentation/", f"{FOLDER}/", 1)
        return f"{path}/README.md" if self.symbols[url]["metadata"].get("symbolKind") == "module" else f"{path}.md"

    # Pages

    def page(self, url: str) -> str:
        symbol = self.symbols[url]
        parts = [f"# {self.title(url)}", *self.about(url, url)]
        groups = [("", [one for one in self.inner(url) if self.is_page(one)]),
                  *((section["title"], self.listed(symbol, section)) for section in symbol.get("topicSections", []))]
        listed: set = set()
        for title, members in groups[1:] + groups[:1]:
            types = [one for one in members if self.is_page(one) and one not in listed]
            others = [one for one in members if not self.is_page(one) and one not in listed]
            listed.update(members)
            if types or others:
                parts.append(f"## {title or 'More types'}")
            if types:
                rows = "\n".join(f"| {self.reference(one, url)} | {self.abstract(one, url, in_table=True)} |" for one in types)
                kind = "article" if all(self.is_article(one) for one in types) else "type"
                parts.append(f"| {kind} | |\n|---|---|\n{rows}")
            for one in others:
                parts += [f"### {self.title(one)}", *self.about(one, url)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def inner(self, url: str) -> List[str]:
        return [one for one in self.symbols if one.rpartition("/")[0] == url]

    def listed(self, symbol: Dict[str, Any], section: Dict[str, Any]) -> List[str]:
        urls = [symbol["references"].get(identifier, {}).get("url", "") for identifier in section["identifiers"]]
        return [url for url in urls if url in self.symbols]

    def title(self, url: str) -> str:
        symbol = self.symbols[url]["metadata"]
        title = str(symbol["title"])
        # Members and nested types of one type are on its page, or are found by their own name.
        return title.rpartition(".")[2] if symbol.get("symbolKind") == "case" and "(" not in title else title

    def about(self, url: str, page: str) -> List[str]:
        """Declaration, summary and discussion."""
        symbol = self.symbols[url]
        parts = []
        for section in symbol.get("primaryContentSections", []):
            if section["kind"] == "declarations":
                text = "".join(token["text"] for token in section["declarations"][0]["tokens"])
                parts.append(f"```swift\n{folded(text)}\n```")
        parts.append(self.abstract(url, page))
        for section in symbol.get("primaryContentSections", []):
            if section["kind"] == "parameters":
                parts += [f"- `{one['name']}`: " + self.blocks(one["content"], symbol, page) for one in section["parameters"]]
            elif section["kind"] == "content":
                inner = section["content"]
                # The heading that DocC puts above a text without one.
                has_heading = bool(inner) and inner[0]["type"] == "heading" and not self.is_article(url)
                parts.append(self.blocks(inner[1:] if has_heading else inner, symbol, page))
        return parts

    def abstract(self, url: str, page: str, in_table: bool = False) -> str:
        text = self.inline(self.symbols[url].get("abstract", []), self.symbols[url], page)
        return text.replace("|", "\\|") if in_table else text

    # Text

    def reference(self, url: str, page: str, title: Optional[str] = None) -> str:
        """A link to a type's page, or to that of the type which a member is of."""
        shown = self.title(url) if self.is_article(url) else f"`{title or self.title(url)}`"
        while url and not self.is_page(url):
            url = url.rpartition("/")[0]
        if not url or url == page:
            return shown
        return f"[{shown}]({os.path.relpath(self.source(url), os.path.dirname(self.source(page)))})"

    def inline(self, content: List[Dict[str, Any]], symbol: Dict[str, Any], page: str) -> str:
        out = []
        for one in content:
            kind = one["type"]
            if kind == "text":
                out.append(re.sub(r"([\\*_\[\]`])", r"\\\1", html.escape(one["text"], quote=False)))
            elif kind == "codeVoice":
                out.append(f"`{one['code']}`")
            elif kind == "reference":
                found = symbol["references"].get(one["identifier"], {})
                url, title = found.get("url", ""), found.get("title", one["identifier"])
                out.append(self.reference(url, page, title) if url.startswith("/") else f"[{title}]({url})" if url else f"`{title}`")
            elif kind in ("emphasis", "strong"):
                mark = "*" if kind == "emphasis" else "**"
                out.append(f"{mark}{self.inline(one['inlineContent'], symbol, page)}{mark}")
            else:
                out.append(self.inline(one.get("inlineContent", []), symbol, page))
        return "".join(out)

    def blocks(self, content: List[Dict[str, Any]], symbol: Dict[str, Any], page: str) -> str:
        out = []
        for one in content:
            kind = one["type"]
            if kind == "paragraph":
                out.append(self.inline(one["inlineContent"], symbol, page))
            elif kind == "heading":
                text = html.escape(one["text"], quote=False)
                out.append(f"{'#' * one['level']} {text}" if symbol.get("kind") == "article" else f"**{text}**")
            elif kind == "codeListing":
                code = "\n".join(one["code"])
                out.append(f"```{one.get('syntax') or 'swift'}\n{code}\n```")
            elif kind in ("unorderedList", "orderedList"):
                items = [self.blocks(item["content"], symbol, page).replace("\n", "\n  ") for item in one["items"]]
                out.append("\n".join(f"- {item}" for item in items))
            else:
                out.append(self.blocks(one.get("content", []), symbol, page))
        return "\n\n".join(out)
