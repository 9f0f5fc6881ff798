"""The sections of the report that are about sessions."""

import statistics

from tables import compared, median, met, rate, table

START_MS, GROWTH_KIB = 200, 4


def _cached(cached):
    lines = ["## Cached session tokens compared with oidc-agent", ""]
    rows = cached["rows"]
    if cached["oidcAgent"] is None:
        medians = [[row["name"], rate(median(row["postern"], "requestsPerSecond"))] for row in rows]
        return lines + [*table(["", "Postern req/s"], medians), "oidc-agent is not installed (`make bench-deps`).", ""]
    return lines + [
        *compared(rows, "oidc-agent"),
        f"`getAccessToken` of one session and `access_token` of one account ({cached['oidcAgent']}), both with the "
        "same provider and the same token, requested by the same client over plain IPC. oidc-agent answers once per "
        "connection; its processor time is that of its two processes.",
        "",
    ]


def _many(many):
    sizes, count = many["sizesKib"], many["sessions"]
    rows = []
    for method, name in [
        ("getInfo", "start to the first answer (`getInfo`), ms"),
        ("getSession", "start to the first `getSession`, ms"),
        ("getAccessToken", "start to the first `getAccessToken`, ms"),
    ]:
        values = [times[method] for times in many["starts"]]
        middle = statistics.median(values)
        spread = [f"{value:.1f}" for value in (middle, min(values), max(values))]
        rows.append([name, *spread, f"≤ {START_MS}", met(middle <= START_MS)])
    for key, since, name in [
        ("created", "oneSession", "RSS growth a session, all created, KiB"),
        ("createdTouched", "oneSession", "RSS growth a session, created and each token requested, KiB"),
        ("restartedTouched", "restarted", "RSS growth a session, after a restart and each token requested, KiB"),
    ]:
        growth = (sizes[key] - sizes[since]) / count
        rows.append([name, f"{growth:.2f}", "", "", f"≤ {GROWTH_KIB}", met(growth <= GROWTH_KIB)])
    mib = {name: f"{size / 1024:.1f}" for name, size in sizes.items()}
    return [
        f"## {count:,} sessions in the file store",
        "",
        *table(["", f"median of {len(many['starts'])}", "lowest", "highest", "target", ""], rows),
        f"RSS: {mib['oneSession']} MiB with one session, {mib['created']} MiB with all of them; after a restart "
        f"{mib['restarted']} MiB, and {mib['restartedTouched']} MiB when each was requested. The store has "
        f"{many['storeKib'] / 1024:.1f} MiB on disk; {many['createdPerSecond']:,.0f} "
        "sessions were created a second, each durable before its response.",
        "",
    ]


def sections(sessions):
    """Their Markdown."""
    return _cached(sessions["cached"]) + _many(sessions["many"])
