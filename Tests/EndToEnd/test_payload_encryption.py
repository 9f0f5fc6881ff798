"""`payloadEncryption` of a resource: bodies are JWEs in both directions; joserfc makes and reads them on the other
side."""
from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional

import pytest

from harness import expect
from harness.binaries import postern
from harness.connection import Connection
from harness.encrypted import EncryptedServer
from harness.jose_peer import JosePeer, public
from harness.playground import Playground
from harness.sidecar import Sidecar, StartError

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

JOSE = "application/jose"
SECRET = "very secret words"


@pytest.fixture(scope="module")
def peer() -> Iterator[JosePeer]:
    peer = JosePeer()
    yield peer
    peer.stop()


@pytest.fixture
def server() -> Iterator[EncryptedServer]:
    server = EncryptedServer()
    yield server
    server.stop()


class Keys:
    """Both sides' keys, and their files as the sidecar has them."""

    def __init__(self, directory: Path, peer: JosePeer, kty: str = "EC", crv: Optional[str] = "P-256") -> None:
        self.peer, self.directory = peer, directory
        self.theirs = peer.key(kty, crv, kid="theirs")
        self.ours = peer.key(kty, crv, kid="ours")
        self.put(recipient=json.dumps(public(self.theirs)), decryption=json.dumps(self.ours))

    def put(self, recipient: Optional[str] = None, decryption: Optional[str] = None) -> None:
        for name, text in (("recipient", recipient), ("decryption", decryption)):
            if text is not None:
                new = self.directory / f"{name}.new"
                new.write_text(text)
                new.chmod(0o600)
                new.replace(self.directory / name)

    def settings(self, **members: Any) -> Dict[str, Any]:
        own = {
            "recipientKeyFile": str(self.directory / "recipient"),
            "decryptionKeyFile": str(self.directory / "decryption"), **members}
        return {name: value for name, value in own.items() if value is not None}


@pytest.fixture
def keys(directory: Path, peer: JosePeer) -> Keys:
    return Keys(directory, peer)


def resource(base: str, settings: Dict[str, Any], **members: Any) -> Dict[str, Any]:
    return {"resources": {"vault": {"baseUrl": base, "auth": "none", "payloadEncryption": settings, **members}}}


def fetch(connection: Connection, **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "vault", "path": "x", **params})


def refused(connection: Connection, outcome: str = "replied", **params: Any) -> Dict[str, Any]:
    error = connection.error("fetchResource", {"resource": "vault", "path": "x", **params})
    expect.fault(error, 1015)
    assert error["data"]["outcome"] == outcome
    return error


@pytest.mark.parametrize("kty, crv, alg", [
    ("EC", "P-256", "ECDH-ES"), ("EC", "P-384", "ECDH-ES+A128KW"), ("EC", "P-521", "ECDH-ES+A192KW"),
    ("OKP", "X25519", "ECDH-ES+A256KW"), ("RSA", None, "RSA-OAEP"), ("RSA", None, "RSA-OAEP-256"),
    ("oct", None, "A256KW"),
])
@pytest.mark.parametrize("enc", ["A128GCM", "A192GCM", "A256GCM", "A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512"])
def test_what_one_side_encrypts_the_other_one_reads(
    start: Start, directory: Path, peer: JosePeer, server: EncryptedServer, kty: str, crv: Optional[str], alg: str, enc: str
) -> None:
    own = Keys(directory, peer, kty, crv)
    server.answer = lambda path: (
        200, JOSE, peer.encrypt(own.ours, alg, enc, b'{"answer":"\xc3\xbc"}', cty="application/json").encode())
    sidecar = start(resource(server.base, own.settings(algorithm=alg, encryption=enc)))
    result = fetch(sidecar.connect(), method="POST", parameters={"words": SECRET})
    assert json.loads(result["body"]) == {"answer": "\u00fc"}
    assert result["headers"]["content-type"] == ["application/json"]
    assert "content-length" not in result["headers"]
    [(_, headers, body)] = server.requests
    assert headers["content-type"] == JOSE and headers["accept"] == JOSE
    assert SECRET.encode() not in body
    header, content = peer.decrypt(own.theirs, alg, enc, body.decode())
    assert json.loads(content) == {"words": SECRET}
    assert (header["alg"], header["enc"], header["cty"], header["kid"]) == (alg, enc, "application/json", "theirs")


@pytest.mark.parametrize("params, cty, content", [
    ({"parameters": {"a": "1"}, "parametersEncoding": "formUrl"}, "application/x-www-form-urlencoded", b"a=1"),
    ({"body": "words", "headers": {"Content-Type": "text/plain"}}, "text/plain", b"words"),
    ({"bodyBase64": base64.b64encode(bytes(range(256))).decode()}, None, bytes(range(256))),
    ({"body": ""}, None, b""),
    ({"multipart": [{"name": "f", "fileName": "f", "data": "words"}]}, "multipart/form-data; boundary=", b"words"),
])
def test_every_kind_of_body(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer, params: Dict[str, Any], cty: Optional[str],
    content: bytes
) -> None:
    connection = connect(start(resource(server.base, keys.settings())))
    assert fetch(connection, method="POST", **params)["status"] == 204
    header, found = keys.peer.decrypt(keys.theirs, "ECDH-ES+A256KW", "A256GCM", server.requests[0][2].decode())
    assert header.get("cty", "").startswith(cty or "") and ("cty" in header) == (cty is not None)
    assert content == found if "multipart" not in params else content in found


def test_a_get_has_nothing_to_encrypt_but_its_answer(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer
) -> None:
    server.answer = lambda path: (200, JOSE, keys.peer.encrypt(
        keys.ours, "ECDH-ES+A256KW", "A256GCM", bytes(range(256)), cty="image/png").encode())
    result = fetch(connect(start(resource(server.base, keys.settings()))), parameters={"a": 1})
    assert base64.b64decode(result["bodyBase64"]) == bytes(range(256))
    path, headers, body = server.requests[0]
    assert path == "/x?a=1" and body == b"" and "content-type" not in headers


def test_a_large_body_both_ways(start: Start, keys: Keys, server: EncryptedServer) -> None:
    large = b"x" * (8 << 20)
    server.answer = lambda path: (200, JOSE, keys.peer.encrypt(
        keys.ours, "ECDH-ES+A256KW", "A256GCM", large, cty="text/plain").encode())
    connection = start(resource(server.base, keys.settings(), maxBodyBytes=12 << 20)).connect(timeout=60)
    assert fetch(connection, method="POST", body=large.decode())["body"] == large.decode()
    assert keys.peer.decrypt(keys.theirs, "ECDH-ES+A256KW", "A256GCM", server.requests[0][2].decode())[1] == large


def test_max_body_bytes_bounds_the_encrypted_form(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer
) -> None:
    server.answer = lambda path: (200, JOSE, keys.peer.encrypt(
        keys.ours, "ECDH-ES+A256KW", "A256GCM", b"x" * 1000).encode())
    connection = connect(start(resource(server.base, keys.settings(), maxBodyBytes=1200)))
    expect.fault(connection.error("fetchResource", {"resource": "vault", "path": "x"}), 1012)


@pytest.mark.parametrize("flaw", ["clear", "key", "alg", "enc", "tampered", "zip", "malformed", "empty parts", "kid"])
def test_an_answer_that_is_not_what_was_agreed_is_refused(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer, peer: JosePeer, flaw: str
) -> None:
    def token(key: Any = None, alg: str = "ECDH-ES+A256KW", enc: str = "A256GCM", **header: Any) -> str:
        return peer.encrypt(key or keys.ours, alg, enc, SECRET.encode(), **header)

    if flaw == "clear":
        server.answer = lambda path: (200, "text/plain", SECRET.encode())
    elif flaw == "tampered":
        parts = token().split(".")
        parts[3] = ("A" if parts[3][0] != "A" else "B") + parts[3][1:]
        server.answer = lambda path: (200, JOSE, ".".join(parts).encode())
    else:
        made = {
            "key": lambda: token(peer.key("EC", "P-256")), "alg": lambda: token(alg="ECDH-ES"),
            "enc": lambda: token(enc="A128GCM"), "zip": lambda: token(zip="DEF"), "malformed": lambda: SECRET,
            "empty parts": lambda: "....", "kid": lambda: token(kid="another"),
        }[flaw]()
        server.answer = lambda path: (200, JOSE, made.encode())
    sidecar = start({**resource(server.base, keys.settings()), "log": {"level": "trace"}})
    connection = connect(sidecar)
    error = refused(connection, method="POST", body=SECRET)
    assert error["data"]["retryable"] is False and error["data"]["upstream"] == {"status": 200}
    assert SECRET not in json.dumps(error)
    assert len(server.requests) == 1
    assert SECRET not in sidecar.log() and keys.ours["d"] not in sidecar.log()


@pytest.mark.parametrize("status, body", [(404, b"not here"), (502, b"<html>bad gateway</html>"), (200, b""), (204, b"")])
def test_a_gateways_error_and_an_answer_without_a_body_are_results(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer, status: int, body: bytes
) -> None:
    server.answer = lambda path: (status, "text/html", body)
    result = fetch(connect(start(resource(server.base, keys.settings()))))
    assert (result["status"], result["body"]) == (status, body.decode())


def test_head_has_no_body_to_decrypt(start: Start, connect: Connect, keys: Keys, server: EncryptedServer) -> None:
    server.answer = lambda path: (200, JOSE, b"x" * 10)
    assert fetch(connect(start(resource(server.base, keys.settings()))), method="HEAD")["body"] == ""


def test_without_a_key_for_answers_they_come_in_the_clear(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer
) -> None:
    server.answer = lambda path: (200, "text/plain", b"words")
    connection = connect(start(resource(server.base, keys.settings(decryptionKeyFile=None))))
    assert fetch(connection, method="POST", body=SECRET, headers={"Accept": "text/plain"})["body"] == "words"
    assert server.requests[0][1]["accept"] == "text/plain" and server.requests[0][1]["content-type"] == JOSE
    assert connection.call("fetchResource", {"resource": "vault", "path": "x", "stream": True})["status"] == 200


def test_an_encrypted_answer_is_not_streamed(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer
) -> None:
    connection = connect(start(resource(server.base, keys.settings())))
    error = connection.error("fetchResource", {"resource": "vault", "path": "x", "stream": True})
    expect.fault(error, -32602, "/stream")
    assert server.requests == []


def test_headers_about_the_bodys_bytes_are_refused(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer
) -> None:
    connection = connect(start(resource(server.base, keys.settings())))
    error = connection.error("fetchResource", {
        "resource": "vault", "path": "x", "method": "POST", "body": "b", "headers": {"Content-Digest": "sha-256=:x:"}})
    expect.fault(error, 1005, "/headers/Content-Digest")


def test_a_redirect_that_keeps_the_body_has_it_encrypted_anew(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer
) -> None:
    server.answer = lambda path: (307, "/y", b"over there") if path == "/x" else (204, "", b"")
    assert fetch(connect(start(resource(server.base, keys.settings()))), method="POST", body=SECRET)["status"] == 204
    [first, second] = [request[2].decode() for request in server.requests]
    assert first.split(".")[1:] != second.split(".")[1:]
    for token in first, second:
        assert keys.peer.decrypt(keys.theirs, "ECDH-ES+A256KW", "A256GCM", token)[1] == SECRET.encode()


# Key files


@pytest.mark.parametrize("form", ["public key", "certificate"])
def test_keys_as_pem_will_do(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer, peer: JosePeer, form: str
) -> None:
    recipient = peer.pem(keys.theirs, False)
    if form == "certificate":
        made = ["openssl", "req", "-x509", "-new", "-key", "/dev/stdin", "-subj", "/CN=theirs"]
        private = peer.pem(keys.theirs, True).encode()
        recipient = subprocess.run(made, input=private, check=True, capture_output=True, timeout=30).stdout.decode()
    keys.put(recipient=recipient, decryption=peer.pem(keys.ours, True))
    server.answer = lambda path: (200, JOSE, peer.encrypt(
        keys.ours, "ECDH-ES+A256KW", "A256GCM", b"words", cty="text/plain").encode())
    assert fetch(connect(start(resource(server.base, keys.settings()))), method="POST", body="b")["body"] == "words"
    assert "kid" not in peer.decrypt(keys.theirs, "ECDH-ES+A256KW", "A256GCM", server.requests[0][2].decode())[0]


def test_replaced_key_files_are_used_without_restart_and_reload(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer, peer: JosePeer
) -> None:
    sealing = {"key": keys.ours}
    server.answer = lambda path: (200, JOSE, peer.encrypt(
        sealing["key"], "ECDH-ES+A256KW", "A256GCM", b"words", cty="text/plain").encode())
    connection = connect(start(resource(server.base, keys.settings())))
    assert fetch(connection, method="POST", body="b")["status"] == 200
    next_ours, next_theirs = peer.key("EC", "P-256", kid="next"), peer.key("EC", "P-256", kid="their-next")
    # Our own next key beside the one in use, then the other side begins with it, then the old one goes.
    keys.put(recipient=json.dumps(public(next_theirs)), decryption=json.dumps({"keys": [next_ours, keys.ours]}))
    assert fetch(connection, method="POST", body="b")["body"] == "words"
    sealing["key"] = next_ours
    assert fetch(connection, method="POST", body="b")["body"] == "words"
    assert peer.decrypt(next_theirs, "ECDH-ES+A256KW", "A256GCM", server.requests[-1][2].decode())[0]["kid"] == "their-next"
    keys.put(decryption=json.dumps(next_ours))
    assert fetch(connection)["body"] == "words"
    sealing["key"] = keys.ours
    refused(connection)
    # What cannot be used leaves the keys before it in force.
    sealing["key"] = next_ours
    keys.put(recipient="garbage", decryption="garbage")
    assert fetch(connection, method="POST", body="b")["body"] == "words"
    troubled = {name: check for name, check in connection.call("health")["checks"].items() if name.startswith("file.")}
    assert len(troubled) == 1 and all(check["status"] == "degraded" for check in troubled.values())
    keys.put(recipient=json.dumps(public(keys.theirs)), decryption=json.dumps(next_ours))
    assert fetch(connection)["body"] == "words"
    assert connection.call("health")["status"] == "ok"


@pytest.mark.parametrize("key, text", [
    ("recipientKeyFile", "garbage"), ("recipientKeyFile", "rsa"), ("recipientKeyFile", "{}"), ("recipientKeyFile", None),
    ("decryptionKeyFile", "garbage"), ("decryptionKeyFile", "rsa"), ("decryptionKeyFile", "public"),
])
def test_keys_that_are_of_no_use_are_a_problem_at_start_and_reload_and_for_check_config(
    start: Start, connect: Connect, keys: Keys, server: EncryptedServer, peer: JosePeer, configuration: Any,
    directory: Path, key: str, text: Optional[str]
) -> None:
    content = {"rsa": lambda: json.dumps(peer.key("RSA")), "public": lambda: json.dumps(public(keys.ours))}.get(
        text or "", lambda: text)()
    sidecar = start(resource(server.base, keys.settings()))
    bad = keys.settings()
    bad[key] = str(directory / "bad")
    if content is not None:
        (directory / "bad").write_text(content)
        (directory / "bad").chmod(0o600)
    connection = connect(sidecar)
    changed = {**configuration, **resource(server.base, bad)}
    sidecar.write(changed)
    place = f"resources.vault.payloadEncryption.{key}"
    problems = json.dumps(connection.error("reloadConfig"))
    assert place in problems
    checked = subprocess.run(
        [postern(), "check-config", "--config", str(sidecar.configuration_path)], capture_output=True, text=True, timeout=30)
    assert checked.returncode == 1 and place in checked.stderr
    sidecar.stop()
    with pytest.raises(StartError) as failed:
        start(resource(server.base, bad))
    assert place in failed.value.log
    for said in problems, checked.stderr, failed.value.log:
        assert keys.ours["d"] not in said and '"kty"' not in said


# The playground's own


def test_the_playgrounds_encrypted_echo(start: Start, connect: Connect, keys: Keys, playground: Playground) -> None:
    def switch(**members: Any) -> None:
        assert playground.request("POST", "/playground/payloadEncryption", json.dumps(members).encode())[0] == 200

    switch(key=keys.theirs, recipient=public(keys.ours))
    connection = connect(start(resource(playground.base + "/open/jose/", keys.settings())))
    echo = json.loads(fetch(connection, path="echo", method="POST", parameters={"a": 1})["body"])
    assert json.loads(echo["body"]) == {"a": 1} and echo["headers"]["content-type"] == ["application/json"]
    assert echo["jose"]["kid"] == "theirs" and echo["jose"]["alg"] == "ECDH-ES+A256KW"
    for answers in "clear", "tampered":
        switch(answers=answers)
        refused(connection, path="echo")
