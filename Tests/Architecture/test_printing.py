"""Every public value of the Swift library prints as one short line, without secrets and private properties.

A public type conforms to `ConciseStringConvertible`, or the list below has the reason why it does not. Types without a
payload do not count: an enumeration prints the name of its case. `PrintedValuesTests.swift` of `AuthEngineTests` and
of three other targets print a sample of each type.
"""

import re
from pathlib import Path

import swift_types
from test_initializers import LIBRARIES

SOURCES = Path(__file__).resolve().parents[2] / "Sources"
TESTS = SOURCES.parent / "Tests"
MODULES = [*LIBRARIES, "PosternCrypto", "PosternJSON", "PosternKit", "PosternSupport", "SessionStore"]

# The second is for types that have an optional member of the name `description`; they have a `debugDescription`. The
# others refine the first.
PROTOCOLS = {
    "ConciseStringConvertible", "CustomReflectable", "AttributeCallback", "DeviceKeyCallback", "TypedCallback",
    "WebAuthnCallback",
}

EVENT = "Swift prints the case and its payload, whose values print well"
EXCEPTIONS = {
    "EngineEvent": EVENT,
    "FairFlow": "as its superclass",
    "FairQueue.Flow": "as its superclass",
    "KeySetEvent": EVENT,
    "PosternURLProtocol": "as its superclass: the loading system makes it, programs do not",
    "SessionEvent": EVENT,
    "SessionGrant": "prints the name of its case; a dump shows the payload, whose tokens are a Secret",
    "TracedOutcome": EVENT,
    "TracedWork": EVENT,
}

# Samples are hard to make, and could contain nothing else.
WITHOUT_SAMPLE = {
    "ArrivalOrder.Entry": "a number",
    "Certificate": "a size and a kind of key",
    "CertificateChain": "two instants",
    "ConcurrencyLimiterState.WaiterID": "a number",
    "DecisionClient": "the text of its DecisionPoint",
    "ExpiringStore.Taken": "a fixed text",
    "HTTPURL": "prints its query, as URLs do; a test of its own has the other ways",
    "PassedDescriptor": "two numbers",
    "ProtectedResource": "the text of its ResourceServer",
    "SuspendedAuthorization": "a count",
    "SystemThread.Handle": "a fixed text",
}


def heads():
    """(module, kind, qualified name, indentation, text before the brace, lines of the body) of each declaration."""
    for module in MODULES:
        for path in sorted((SOURCES / module).rglob("*.swift")):
            source = path.read_text(encoding="utf-8")
            lines = swift_types.code_only(source).split("\n")
            for found in swift_types.declarations(source):
                body = lines[found.first - 1 : found.last]
                if not body:
                    continue  # `import struct Module.Name`
                margin = len(body[0]) - len(body[0].lstrip())
                yield module, found.kind, found.name, margin, " ".join(body).partition("{")[0], body[1:]


def has_payload(kind, margin, body):
    """Whether a value of the type is more than a name: an enumeration's cases may have one."""
    return kind != "enum" or any(re.match(rf" {{{margin + 2}}}(?:indirect )?case \w+\(", line) for line in body)


def with_the_name_only():
    """The types whose description is the protocol's: the name of the type, which needs no sample."""
    pattern = re.compile(r"^extension ([\w.]+): ConciseStringConvertible \{\}$", re.MULTILINE)
    texts = [path.read_text(encoding="utf-8") for module in MODULES for path in (SOURCES / module).rglob("*.swift")]
    return {name for text in texts for name in pattern.findall(text)}


def public_types():
    """The names of the public types that have a payload, and those of the types that conform."""
    types, conforming = set(), set()
    for module, kind, name, margin, head, body in heads():
        inherited = re.findall(r"\w+", head.partition(":")[2])
        if PROTOCOLS & set(inherited):
            conforming.add((module, name))
        is_public = re.search(r"\bpublic\b", head) and kind not in {"extension", "protocol"}
        if is_public and "~" not in head and has_payload(kind, margin, body):
            types.add((module, name))
    return types, conforming


def test_a_public_type_without_a_description_is_listed():
    types, conforming = public_types()
    assert len(types & conforming) > 200, "the scan of the sources finds too little"
    missing = {f"{module}.{name}" for module, name in types - conforming if name not in EXCEPTIONS}
    assert missing == set(), "conform to ConciseStringConvertible, or list the type with the reason"
    unused = EXCEPTIONS.keys() - {name for _, name in types - conforming}
    assert unused == set(), "listed, and not among the public types without a description"


def test_each_public_type_has_a_sample():
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("PrintedValues*.swift")))
    samples = set(re.findall(r'"([\w.]+)":\s', text))
    assert len(samples) > 200, "the scan of the tests finds too little"
    without = EXCEPTIONS.keys() | WITHOUT_SAMPLE.keys() | with_the_name_only()
    missing = {name for _, name in public_types()[0]} - samples - without
    assert missing == set(), "add a sample to PrintedValuesTests.swift"
