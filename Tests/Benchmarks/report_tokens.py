"""The tables about token validation."""

import statistics

from tables import met, rate, table

ENGINE_RATIO = 0.95
RATIOS = {"cold": 2, "repeated": 6, "keys": 3}  # of PyJWT's validations a second
NAMES = {"cold": "cold", "repeated": "repeated", "keys": "keys passed along"}
LIBRARY_NAMES = {
    "pyjwt": "PyJWT",
    "joserfc": "joserfc",
    "authlib": "authlib",
    "jose": "jose (Node)",
    "jose16": "jose (Node), 16 in flight",
}


def _median(lines, key):
    return statistics.median(line[key] for line in lines)


def _engine(rows):
    head = ["", "engine /CPU s", "C /CPU s", "`openssl speed`", "ratio", "lowest–highest", "target", ""]
    head += ["engine allocations", "C allocations"]
    body = []
    for row in rows:
        engine, c = (_median(row[name], "perCpuSecond") for name in ("engine", "c"))
        rounds = [a["perCpuSecond"] / b["perCpuSecond"] for a, b in zip(row["engine"], row["c"])]
        body.append(
            [
                row["name"],
                rate(engine),
                rate(c),
                rate(_median(row["openssl"], "perCpuSecond")),
                f"{engine / c:.2f}",
                f"{min(rounds):.2f}–{max(rounds):.2f}",
                f"≥ {ENGINE_RATIO}",
                met(engine / c >= ENGINE_RATIO),
                *(f"{row['allocations'][name]:.0f}" for name in ("engine", "c")),
            ]
        )
    return table(head, body)


def _socket(rows):
    head = ["", "req/s", "p50 µs", "p99 µs", "CPU µs/req", "ratio to PyJWT in process", "target", ""]
    body = []
    for row in rows:
        lines = row["lines"]
        peer = _median(lines["pyjwt"], "perSecond") if "pyjwt" in lines else None
        for name, target in RATIOS.items():
            own = _median(lines[name], "requestsPerSecond")
            latencies = [line["latencyUs"] for line in lines[name]]
            aimed = peer is not None and (name != "cold" or row["name"] == "RS256")
            body.append(
                [
                    f"{row['name']}, {NAMES[name]}",
                    rate(own),
                    rate(_median(latencies, "p50")),
                    rate(_median(latencies, "p99")),
                    f"{_median(lines[name], 'serverCpuUs'):.1f}",
                    f"{own / peer:.1f} ×" if peer else "–",
                    f"≥ {target} ×" if aimed else "–",
                    met(own >= target * peer) if aimed else "",
                ]
            )
    return table(head, body)


def _libraries(rows):
    head = ["validations/s (CPU µs for each)"] + [row["name"] for row in rows]
    body = []
    for name, shown in LIBRARY_NAMES.items():
        measured = [row["lines"].get(name) for row in rows]
        if not all(measured):
            continue
        cells = [
            f"{rate(_median(lines, 'perSecond'))} ({1e6 / _median(lines, 'perCpuSecond'):.0f})" for lines in measured
        ]
        body.append([shown, *cells])
    return table(head, body) if body else []


def sections(tokens):
    """The part of the page."""
    rows = tokens["socket"]
    versions = {
        lines[0]["version"]: None for row in rows for lines in row["lines"].values() if lines[0].get("version")
    }
    lines = [
        "## ID-token validation compared with C",
        "",
        *_engine(tokens["engine"]),
        "Validations per second of processor time, one thread: the engine's `IDTokenValidator` without its cache of "
        "verifications, a C program that does the same with OpenSSL's EVP interface and jansson, and what `openssl speed` "
        f"({tokens['openssl']}) measures for bare verifications. Allocations are those of one validation.",
        "",
        "## `validateIdToken` through the socket",
        "",
        *_socket(rows),
        f"{tokens['connections']} connections × {tokens['pipeline']} pipelined. Cold: {tokens['tokens']:,} different "
        "tokens in rotation, more than the cache of verifications holds, and every result has `cached: false`. Repeated: "
        f"{tokens['repeatedTokens']} tokens, and every result has `cached: true`; keys passed along: the same tokens, "
        "each with the key set (`jwks`) instead of the issuer's name.",
        "",
    ]
    libraries = _libraries(rows)
    if libraries:
        lines += [
            "The same tokens and rules in process:",
            "",
            *libraries,
            f"{', '.join(versions)}. A library runs in one process and one thread (jose verifies on Node's thread "
            "pool), without a socket; Postern may use all cores and shares them with the load client. Processor time "
            "compares what that costs.",
            "",
        ]
    else:
        lines += ["No library to compare with was there: `make bench-deps` installs them.", ""]
    return lines
