"""The documents as a web site: links, contrast, and what a browser without a network makes of it."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stage  # noqa: F401  (it makes the harness of the end-to-end tests importable)

from harness.chromium import Chromium  # noqa: E402
from harness.waiting import eventually  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "proto-docs" / "glossary.md").read_text(encoding="utf-8")
#: What `make docc` has made; `make test` makes it first.
DOCC = ROOT / ".build" / "docc"


def python_with_markdown():
    for program in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([program, "-c", "import markdown, pygments"], capture_output=True).returncode == 0:
            return program
    raise AssertionError("python3-markdown and python3-pygments are not installed (make deps)")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    script = ROOT / "proto-docs" / "tool" / "website.py"
    assert (DOCC / "data").is_dir(), "there is no Swift reference (make docc)"
    command = [python_with_markdown(), str(script), "--into", str(folder), "--swift", str(DOCC)]
    subprocess.run(command, check=True, timeout=120)
    return folder


@pytest.fixture(scope="session")
def pages(site):
    """URL → text."""
    found = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert len(found) > 60, "the site is too small"
    return found


# MARK: what stands in the files


def test_every_link_leads_somewhere(pages, site):
    """Catches a link or a search result to a page or a heading that is not there."""
    anchors = {url: set(re.findall(r'\bid="([^"]*)"', text)) for url, text in pages.items()}
    index = (site / "search-index.js").read_text(encoding="utf-8")
    links = [("search-index.js", url) for url in re.findall(r'\["((?:[^"\\]|\\.)*)","', index)]
    links += [(page, html.unescape(link)) for page, text in pages.items() for link in re.findall(r'\b(?:href|src)="([^"]*)"', text)]
    assert len(links) > 5000, "the scan finds too little"
    broken = []
    for page, link in links:
        if re.match(r"https?:", link):
            continue
        path, _, fragment = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not (site / target).is_file():
            broken.append(f"{page}: {link}: no such file")
        elif fragment and fragment not in anchors[target]:
            broken.append(f"{page}: {link}: no such anchor")
    assert not broken, "\n".join(sorted(set(broken)))


def test_every_page_can_be_reached_and_has_what_readers_need(pages):
    """Catches a page that nothing links to, with two titles or none, or with two elements of one id."""
    linked = {os.path.normpath(os.path.join(os.path.dirname(page), link)) for page, text in pages.items()
              for link in re.findall(r'href="([^"#:]+\.html)', text)}
    assert pages.keys() - linked == set()
    for url, text in pages.items():
        assert text.count("<h1") == 1, url
        assert '<html lang="en">' in text and re.search(r"<title>\S.*Postern</title>|<title>Postern</title>", text), url
        identifiers = re.findall(r'\bid="([^"]*)"', text)
        assert len(identifiers) == len(set(identifiers)), url


def test_nothing_comes_from_elsewhere(pages, site):
    """Catches a script, a style, a font or a picture that needs the network."""
    for url, text in pages.items():
        for link in re.findall(r"<(?:link|script|img|iframe|source)\b[^>]*\b(?:href|src)=\"([^\"]*)\"", text):
            assert not re.match(r"[a-z]+:|//", link), f"{url}: {link}"
    for asset in [*site.glob("*.css"), site / "site.js", site / "theme.js"]:
        assert not re.search(r"@import|url\(|https?:|fetch\(|XMLHttpRequest", asset.read_text(encoding="utf-8")), asset.name


def test_markdown_became_html(pages):
    """Catches Markdown that the site shows as it was written: a table, a fence, a link."""
    for url, text in pages.items():
        if url.startswith("files/"):
            continue
        body = re.sub(r"<(pre|code)\b.*?</\1>", "", text.split("<article>")[1].split("</article>")[0], flags=re.DOTALL)
        visible = re.sub(r"<[^>]+>", "", body)
        found = re.search(r"^\|.*\|$|```|\]\([\w./#-]+\)|^#+ ", visible, re.MULTILINE)
        assert not found, f"{url}: {found.group(0)}"


def test_the_swift_reference_is_a_part_of_it(pages, site):
    """Catches a module or type without a page, a member without declaration, and a reference missing in the search."""
    for module in ("authengine", "httpmessages", "posternkit", "posternurlloading"):
        assert f'href="swift/{module}/index.html"' in pages["index.html"], "not in the list at the side"
    assert len([url for url in pages if url.startswith("swift/")]) > 150
    page = pages["swift/authengine/policyadvice.html"]
    assert re.search(r'<h3 id="inittypevaluerealm">', page) and "insufficientUserAuthentication" in page
    article = pages["swift/posternkit/userlogin.html"]
    assert '<h2 id="2-log-in">' in article and "sessions.login()" in re.sub(r"<[^>]+>", "", article)
    assert 'href="userlogin.html">Log a user in' in pages["swift/posternkit/index.html"]
    assert "swift/authengine/userclient.html#userclient" in (site / "search-index.js").read_text(encoding="utf-8")


# MARK: colours


def luminance(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_text_is_legible_in_both_colour_schemes(site):
    """Catches a text colour under 4.5 : 1 (WCAG 2.2, 1.4.3), and dark colours that differ between system and button."""
    style = (site / "style.css").read_text(encoding="utf-8")
    blocks = [dict(re.findall(r"(--[\w-]+): (#\w{6})", block)) for block in re.findall(r"\{([^{}]*--page: #[^{}]*)\}", style)]
    light, dark, system = blocks
    assert dark == system and light.keys() == dark.keys()
    pairs = [("--text", ground) for ground in ("--page", "--raised", "--accent-soft", "--mark")]
    pairs += [("--muted", ground) for ground in ("--page", "--raised", "--code", "--accent-soft")]
    pairs += [("--accent", ground) for ground in ("--page", "--accent-soft", "--code")]
    pairs += [(name, "--code") for name in light if name.startswith("--t-") or name == "--code-text"]
    for scheme in (light, dark):
        for text, ground in pairs:
            assert contrast(scheme[text], scheme[ground]) >= 4.5, (text, ground, scheme[text], scheme[ground])


# MARK: in a browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Chromium(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.stop()


def test_pages_fit_into_narrow_windows(browser, site, pages):
    """Catches a table or a line of code that makes the whole page scroll sideways on a telephone."""
    page = browser.page(width=360, height=740)
    # Those that are written alike stand for each other.
    alike = ("decisions/", "files/", "reference/")
    own = [url for url in sorted(pages) if not url.startswith(alike)] + ["reference/index.html", "reference/fetchResource.html"]
    wide = []
    for url in own:
        page.open((site / url).as_uri())
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(url)
    page.close()
    assert not wide


def test_tables_and_commands_fit_a_telephone(browser, site, pages):
    """Catches a table or a command that has to be scrolled sideways, and a cell without its heading."""
    page = browser.page(width=360, height=740)
    for url in ["index.html", "errors.html", "troubleshooting.html", "providers.html", "operations.html", "benchmarks.html",
                "glossary.html", "reference/fetchResource.html", "five-minutes.html", "clients/python/docs/adapters.html"]:
        page.open((site / url).as_uri())
        wide = page.evaluate("""[...document.querySelectorAll('.table, .cmd, .out')]
            .filter(part => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0)
            .map(part => part.textContent.trim().slice(0, 80))""")
        assert not wide, f"{url}: {wide}"
        narrow = page.evaluate("[...document.querySelectorAll('td:first-child')].filter(cell => cell.textContent && cell.clientWidth < 80).length")
        assert not narrow, f"{url}: a column of {narrow} cells is narrower than a word"
    page.close()
    page = browser.page(width=1100, height=800)
    for url in ["troubleshooting.html", "providers.html", "errors.html", "platforms.html", "upgrading.html"]:
        page.open((site / url).as_uri())
        assert page.evaluate("[...document.querySelectorAll('.table')].every(one => one.scrollWidth <= one.clientWidth + 1)"), url
    page.close()
    page = browser.page(width=360, height=740)
    page.open((site / "errors.html").as_uri())
    label = "getComputedStyle(document.querySelector('#error-1017').cells[3], '::before').content"
    assert page.evaluate(label) == '"cure"'
    page.close()


def test_the_first_sample_is_visible_at_once(browser, site):
    """Catches a home page whose first command is below the window's edge, or continues beyond the right one."""
    for width, height in ((1440, 900), (1100, 800), (390, 844)):
        page = browser.page(width=width, height=height)
        page.open((site / "index.html").as_uri())
        bottom = page.evaluate("document.querySelector('.code').getBoundingClientRect().bottom")
        assert bottom < height, (width, bottom)
        assert page.evaluate("document.querySelector('.code pre').scrollWidth <= document.querySelector('.code pre').clientWidth"), width
        page.close()


@pytest.mark.parametrize("width, is_shown", [(1100, True), (1440, True), (1099, False)])
def test_the_contents_of_a_page(browser, site, width, is_shown):
    """Catches contents that are missing where there is space for them, or take it from the text where there is not."""
    page = browser.page(width=width, height=800)
    page.open((site / "wire.html").as_uri())
    assert page.evaluate("getComputedStyle(document.querySelector('.contents')).display !== 'none'") is is_shown
    assert page.evaluate("document.querySelector('article').clientWidth") > 500
    page.close()


def test_where_readers_look_for_a_page(pages):
    """Catches a page that is in no group at the side, or in another one than readers look in."""
    groups = {title: re.findall(r'href="([^"]+)"', inner) for title, inner in re.findall(
        r"<summary>([^<]+)</summary><ul>(.*?)</ul>", pages["index.html"], re.DOTALL)}
    for group, url in [("Clients", "other-languages.html"), ("Running it", "upgrading.html"), ("Running it", "troubleshooting.html"),
                       ("Running it", "SECURITY.html"), ("Guides", "providers.html"), ("Start", "glossary.html"),
                       ("Guides", "refresh-across-processes.html"), ("Running it", "platforms.html")]:
        assert url in groups[group], f"{url} is not in {group}"
    assert "Further pages" not in groups, groups["Further pages"]


def test_colours_follow_the_system_and_the_reader(browser, site):
    """Catches a dark scheme that does not come, a button that does nothing, and a choice that the next page forgets."""
    ground = "getComputedStyle(document.body).backgroundColor"
    for dark in (False, True):
        page = browser.page(dark=dark)
        page.open((site / "index.html").as_uri())
        before = page.evaluate(ground)
        assert (before == "rgb(18, 23, 24)") is dark
        assert page.evaluate("document.querySelector('#theme-button').ariaPressed") == str(dark).lower()
        page.click("#theme-button")
        after = eventually(lambda: page.evaluate(f"{ground} !== {before!r} && {ground}"))
        page.open((site / "errors.html").as_uri())
        assert page.evaluate(ground) == after
        page.close()


@pytest.mark.parametrize("words, first", [
    ("fetchResource", "reference/fetchResource.html"),
    ("advice_required", "errors.html#error-1017"),
    ("half-close", "wire.html#half-close-and-why-socat--t-30"),
    ("clientSecret", "files/postern.example.yaml.html"),
    ("retry", "wire.html#what-a-client-may-retry"),
    ("upgrade", "upgrading.html"),
    ("rollback", "upgrading.html"),
    ("client credentials", "reference/fetchResource.html#with-a-token-from-client-credentials"),
    ("m2m", "reference/fetchResource.html#with-a-token-from-client-credentials"),
    ("proxy", "operations.html#proxy"),
    ("helm", "deployment.html#helm"),
    ("keycloak", "providers.html#keycloak"),
    ("zzyzx", None),
])
def test_search(browser, site, words, first):
    """Catches an index that does not load from a file, wrong search results, and keys without effect."""
    page = browser.page()
    page.open((site / "reference/index.html").as_uri())
    for kind in ("keyDown", "keyUp"):
        page.command("Input.dispatchKeyEvent", {"type": kind, "key": "/", "code": "Slash", "text": "/" if kind == "keyDown" else ""})
    assert eventually(lambda: page.evaluate("document.activeElement.id")) == "search"
    page.command("Input.insertText", {"text": words})
    status = eventually(lambda: page.evaluate("document.querySelector('#search-status').textContent"))
    if first is None:
        assert status == "Nothing found"
    else:
        assert page.evaluate("document.querySelector('#search').ariaExpanded") == "true"
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        for kind in ("keyDown", "keyUp"):
            page.command("Input.dispatchKeyEvent", {"type": kind, **enter})
        eventually(lambda: first in page.url, what=f"{first} instead of {page.url}")
    page.close()


def test_other_words_lead_somewhere(site):
    """Catches a word of the glossary for the search that leads to a term which no page has in a heading."""
    lines = (site / "search-index.js").read_text(encoding="utf-8").splitlines()
    index, synonyms = (json.loads(line.partition(" = ")[2].rstrip(";")) for line in lines)
    headings = [f"{page} {heading}".lower() for _, page, heading, *_ in index]
    assert len(synonyms) > 50 and synonyms["m2m"] == "client credentials" and "refresh" in synonyms.values()
    own = {row.split("|")[2].strip() for row in GLOSSARY.split("| searched |")[1].split("\n\n")[0].splitlines()[2:]}
    lost = [term for term in own if not any(all(word in heading for word in term.split()) for heading in headings)]
    assert len(own) > 15 and not lost, lost


def test_nothing_is_asked_of_a_network(browser, site):
    """Catches a script that asks for something elsewhere only while it runs, and one that ends in an error."""
    page = browser.page()
    page.open((site / "wire.html").as_uri())
    page.click("#search")
    page.command("Input.insertText", {"text": "socket"})
    eventually(lambda: page.evaluate("document.querySelectorAll('#results li').length"))
    loaded = page.evaluate("[...document.querySelectorAll('[src], link')].map(element => element.src || element.href).join(' ')").split()
    assert len(loaded) >= 5 and all(name.startswith("file:///") for name in loaded), loaded
    assert page.evaluate("document.querySelectorAll('.copy').length === document.querySelectorAll('.code').length")
    page.close()


def test_the_menu_of_narrow_windows(browser, site):
    """Catches a menu that does not open, or does not close with Escape."""
    page = browser.page(width=390, height=800)
    page.open((site / "sessions.html").as_uri())
    visible = "getComputedStyle(document.querySelector('#sidebar')).display !== 'none'"
    assert page.evaluate(visible) is False
    page.click("#menu-button")
    eventually(lambda: page.evaluate(visible))
    page.evaluate("document.querySelector('.sidebar a').focus()")
    for kind in ("keyDown", "keyUp"):
        page.command("Input.dispatchKeyEvent", {"type": kind, "key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27})
    eventually(lambda: page.evaluate(visible) is False)
    page.close()


@pytest.mark.skipif("SITE_SCREENSHOTS" not in os.environ, reason="writes pictures for a person to look at, into SITE_SCREENSHOTS")
def test_pictures(browser, site):
    folder = Path(os.environ["SITE_SCREENSHOTS"])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for url in ("index.html", "python.html", "swift/authengine/userclient.html", "reference/fetchResource.html",
                "errors.html#error-1017", "troubleshooting.html", "providers.html#keycloak", "wire.html#41-fetchresource"):
        for name, dark, width in (("light", False, 1440), ("dark", True, 1440), ("middle", False, 1100), ("middle-dark", True, 1100),
                                  ("narrow", False, 390), ("narrow-dark", True, 390)):
            page = browser.page(dark=dark, width=width, height=900)
            path, _, fragment = url.partition("#")
            page.open((site / path).as_uri() + (f"#{fragment}" if fragment else ""))
            page.screenshot(folder / f"{Path(path).stem}-{name}.png")
            page.close()
