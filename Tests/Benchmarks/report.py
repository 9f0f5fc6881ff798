"""The table of a run, as Markdown."""

import re
import statistics

import history
import machine
import report_adobe_pass
import report_clients
import report_endpoints
import report_fairness
import report_fetch
import report_gateway
import report_oauth
import report_outbound
import report_preauthorize
import report_scale
import report_sessions
import report_sidecar
import report_tokens
import report_workers
from tables import compared, met, table

# Sections that give their rounds in their own text.
WITH_ROUNDS = ("fetch", "outbound", "gateway", "sidecar", "preauthorize", "adobe", "clients", "oauth", "workers", "scale")
START_MS, IDLE_MIB, FLAT_SHARE, FLAT_KIB = 15, 18, 0.05, 1024


def _startup(startup):
    rows = []
    for name, times in startup["times"].items():
        connect, answer = statistics.median(times["connect"]), statistics.median(times["answer"])
        ours = name == "Postern"
        rows.append(
            [
                f"{name}: start to a connected socket, ms",
                f"{connect:.1f}",
                f"{min(times['connect']):.1f}",
                f"{max(times['connect']):.1f}",
                f"≤ {START_MS}" if ours else "–",
                met(connect <= START_MS) if ours else "",
            ]
        )
        rows.append(
            [
                f"{name}: start to the first answer, ms",
                f"{answer:.1f}",
                f"{min(times['answer']):.1f}",
                f"{max(times['answer']):.1f}",
                "–",
                "",
            ]
        )
    for name, size in startup["idleKib"].items():
        ours = name == "Postern"
        rows.append(
            [
                f"{name}: idle RSS, MiB",
                f"{size / 1024:.1f}",
                "",
                "",
                f"≤ {IDLE_MIB}" if ours else "–",
                met(size <= IDLE_MIB * 1024) if ours else "",
            ]
        )
    return table(["", f"median of {startup['starts']}", "lowest", "highest", "target", ""], rows)


def _soak(soaks):
    rows = []
    for soak in soaks:
        sizes = soak["sizesKib"]
        # The first tenth fills pools and caches; from there on nothing may grow.
        growth = soak["settledKib"] - sizes[1]
        flat = growth <= max(FLAT_KIB, FLAT_SHARE * sizes[1])
        rows.append(
            [
                f"{soak['requests']:,} × {soak['name']} ({soak['connections']} connections × {soak['pipeline']})",
                *(f"{size / 1024:.1f}" for size in (sizes[0], sizes[1], sizes[5], sizes[10], soak["settledKib"])),
                f"{growth / 1024:+.1f}",
                "flat",
                met(flat),
            ]
        )
    return table(
        ["RSS, MiB", "idle", "after 10 %", "50 %", "100 %", "idle again", "growth since 10 %", "target", ""], rows
    )


def head(results):
    """The title, the facts about the machine, and how numbers are made."""
    options = results["options"]
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. What is measured and how to read it: `Tests/Benchmarks/README.md`.",
        "",
    ]
    if options["quick"]:
        lines += ["A quick run: for trying out, not for the record.", ""]
    lines += [f"- {name}: {value}" for name, value in results["facts"]]
    return lines + [
        f"- Each number is the median of {options['rounds']} rounds of {options['seconds']:g} s, Postern and its peer "
        f"alternating in the same run; Postern logs at `{options['log_level']}`.",
        "",
    ]


def measured(results, key, of_its_own):
    """When, on what, how quiet: the line of each section. `of_its_own`: the page is of another run."""
    facts, options = dict(results["facts"]), results["options"]
    has_rounds = not of_its_own or key in WITH_ROUNDS
    rounds = "" if has_rounds else f"; {options['rounds']} rounds of {options['seconds']:g} s"
    by = f"Measured by a run of its own, {facts['Postern']}:" if of_its_own else "Measured:"
    return f"{by} {machine.shown(results['conditions'][key])}{rounds}."


def _blocks(results, of_its_own):
    """Key, heading and text of each section, with the line of its measurement."""
    for key, lines in sections(results):
        for text in re.split(r"(?m)^(?=## )", "\n".join(lines))[1:]:
            title, _, body = text.partition("\n")
            # The chart has a date for each version.
            line = "" if title == history.TITLE else f"\n{measured(results, key, of_its_own)}\n"
            yield key, title, f"{title}\n{line}{body.rstrip()}\n\n"


def merged(page, results):
    """`page` with the sections of `results` instead of those of the same name, or in the page's order where new."""
    head_text, *kept = re.split(r"(?m)^(?=## )", page)
    fresh = {_name(title): (key, text) for key, title, text in _blocks(results, of_its_own=True)}
    blocks = [(_rank(text), text) for text in kept if _name(text.partition("\n")[0]) not in fresh]
    blocks += [(ORDER.index(key), text) for key, text in fresh.values()]
    return (head_text + "".join(text for _, text in sorted(blocks, key=lambda block: block[0]))).rstrip()


def _name(title):
    """A heading without its numbers: they are options of a run."""
    return re.sub(r"[0-9][0-9,]* ", "", title).strip()


def _rank(text):
    title = text.partition("\n")[0]
    return next(
        (rank for rank, key in enumerate(ORDER) if any(word in title for word in HEADINGS[key])), len(ORDER)
    )


def markdown(results):
    """The whole page."""
    return ("\n".join(head(results)) + "\n" + "".join(text for *_, text in _blocks(results, of_its_own=False))).rstrip()


def sections(results):
    """Key and lines of each part that was measured, in the page's order."""
    made = []
    for key in ORDER:
        if key in results:
            made.append((key, MAKERS[key](results[key])))
    return made


def _startup_section(startup):
    return ["## Start and idle", "", *_startup(startup)]


def _echo_section(rows):
    threads = ", ".join(f"{row['name']}: {row['threads']}" for row in rows)
    return [
        "## `getInfo` compared with a C server (epoll and jansson)",
        "",
        *compared(rows, "C server"),
        f"Threads of the C server, the best count for each line: {threads}.",
        "",
    ]


def _sidecar_section(sidecar):
    return report_sidecar.sections(sidecar) + history.sections(sidecar.get("history", []))


def _soak_section(soaks):
    return ["## Memory over many requests", "", *_soak(soaks)]


MAKERS = {
    "startup": _startup_section,
    "echo": _echo_section,
    "sidecar": _sidecar_section,
    "fetch": report_fetch.sections,
    "outbound": report_outbound.sections,
    "gateway": report_gateway.sections,
    "endpoints": report_endpoints.sections,
    "preauthorize": report_preauthorize.sections,
    "adobe": report_adobe_pass.sections,
    "clients": report_clients.sections,
    "oauth": report_oauth.sections,
    "workers": report_workers.sections,
    "tokens": report_tokens.sections,
    "sessions": report_sessions.sections,
    "scale": report_scale.sections,
    "fairness": lambda measured: report_fairness.sections(measured) if measured else [],
    "soak": _soak_section,
}
ORDER = list(MAKERS)
# Words by which the headings of each part are known in a page that is there already.
HEADINGS = {
    "startup": ["Start and idle"],
    "echo": ["`getInfo`"],
    "sidecar": ["C sidecar"],
    "fetch": ["`fetchResource`"],
    "outbound": ["Warm fetches by", "through a proxy"],
    "gateway": ["through the gateway", "with forward authentication", "`validateRequest`", "at two replicas"],
    "endpoints": ["Endpoints"],
    "preauthorize": ["`preauthorize`"],
    "adobe": ["Adobe Pass", "`pass.authorize`"],
    "clients": ["through the clients"],
    "oauth": ["authlib's OAuth2 session"],
    "workers": ["One session in several processes"],
    "tokens": ["ID-token validation", "`validateIdToken`"],
    "sessions": ["oidc-agent", "sessions in the file store"],
    "scale": ["issuers and resources", "as its surroundings grow"],
    "fairness": ["during a flood"],
    "soak": ["Memory over many"],
}
