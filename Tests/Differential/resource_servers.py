"""Two resource servers that judge the same requests: Apache with mod_oauth2, and `validateRequest`."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import socket
import ssl
from pathlib import Path
from typing import Any, Dict, List, Tuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from harness.ports import free_port

from judges import Verdict, base64url
from starting import Program
from validation_cases import AUDIENCE, SCOPE, ValidationCase

MODULES = Path("/usr/lib/apache2/modules")
APACHE = shutil.which("apache2", path="/usr/sbin:/usr/bin")
IS_INSTALLED = APACHE is not None and (MODULES / "mod_oauth2.so").exists()


class Certificate:
    """A certificate that is signed with its own key. Its thumbprint looks different in the two alphabets of base64."""

    def __init__(self, directory: Path, name: str) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
            .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1)))
        while True:
            made = builder.serial_number(x509.random_serial_number()).sign(key, hashes.SHA256())
            if not {"-", "_"}.isdisjoint(base64url(made.fingerprint(hashes.SHA256()))):
                break
        self.pem = made.public_bytes(serialization.Encoding.PEM).decode()
        self.der = made.public_bytes(serialization.Encoding.DER)
        self.file, self.key_file = directory / f"{name}.pem", directory / f"{name}.key"
        self.file.write_text(self.pem)
        self.key_file.write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))


class Apache:
    """Apache, which lets what mod_oauth2 accepts pass to a page that is not there."""

    def __init__(self, directory: Path, issuer: str, certificates: Dict[str, Certificate]) -> None:
        self.port, self.tls_port = free_port(), free_port()
        self._certificates = certificates
        server = Certificate(directory, "server")
        modules = ["mpm_event", "authn_core", "authz_core", "authz_user", "headers", "socache_shmcb", "ssl", "oauth2"]
        loaded = "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in modules)
        times = "verify.exp=required&verify.iat=required&verify.iat.slack_before=100000000&verify.iat.slack_after=5"
        verify = f"OAuth2TokenVerify jwks_uri {issuer}/jwks verify.iss=skip&{times}"
        # With a key set alone it compares neither issuer nor audience: the rules for claims do, whole texts.
        require = f"""
            AuthType oauth2
            <RequireAll>
              Require oauth2_claim iss:{issuer}
              Require oauth2_claim aud:{AUDIENCE}
              <RequireAny>
                Require oauth2_claim scope:{SCOPE}
                Require oauth2_claim "scope:{SCOPE} write"
                Require oauth2_claim "scope:write {SCOPE}"
              </RequireAny>
            </RequireAll>
            """
        proofs = "type=dpop&dpop.iat.slack.before=60&dpop.iat.slack.after=5&dpop.expiry=66"
        (directory / "apache.conf").write_text(f"""
            ServerRoot {directory}
            ServerName localhost
            DefaultRuntimeDir {directory}
            PidFile {directory}/apache.pid
            ErrorLog {directory}/error.log
            LogLevel warn oauth2:info
            AllowEncodedSlashes NoDecode
            Listen 127.0.0.1:{self.port}
            Listen 127.0.0.1:{self.tls_port}
            {loaded}
            User www-data
            Group www-data
            DocumentRoot {directory}/www
            Header always set X-User "expr=%{{REMOTE_USER}}"
            <Location /bearer>
              {require}
              {verify}
            </Location>
            <Location /dpop>
              {require}
              OAuth2AcceptTokenIn header name=Authorization&type=dpop
              {verify}&{proofs}
            </Location>
            <VirtualHost 127.0.0.1:{self.tls_port}>
              SSLEngine on
              SSLCertificateFile {server.file}
              SSLCertificateKeyFile {server.key_file}
              SSLVerifyClient optional_no_ca
              SSLOptions +StdEnvVars +ExportCertData
              <Location /mtls>
                {require}
                {verify}&type=mtls&mtls.policy=optional
              </Location>
            </VirtualHost>
            """)
        (directory / "www").mkdir()
        self.log = directory / "error.log"
        arguments = [APACHE or "apache2", "-D", "FOREGROUND", "-f", str(directory / "apache.conf")]
        self._program = Program(arguments, directory, self.port)

    def stop(self) -> None:
        self._program.stop()

    def judge(self, case: ValidationCase) -> Verdict:
        for earlier in case.before:
            self._send(earlier)
        response = self._send(case)
        status = int(response.split(b" ", 2)[1]) if response.startswith(b"HTTP/1.1 ") else 0
        # The page that is not there, or that has no such method: the request has passed.
        if status in (200, 404, 405):
            return Verdict(header(response, "X-User").encode())
        return Verdict(None, f"{status}: {header(response, 'WWW-Authenticate')}")

    def _send(self, case: ValidationCase) -> bytes:
        fields = [("Host", case.host), ("Connection", "close"), *case.fields]
        if case.body:
            fields += [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", str(len(case.body)))]
        target = target_of(case)
        text = "".join([f"{case.method} {target} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in fields),
        "\r\n"])
        connection = socket.create_connection(("127.0.0.1", self.tls_port if case.kind == "mtls" else self.port), 10)
        if case.kind == "mtls":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if case.certificate:
                own = self._certificates[case.certificate]
                context.load_cert_chain(own.file, own.key_file)
            connection = context.wrap_socket(connection)
        with connection:
            connection.sendall(text.encode("utf-8", "surrogatepass") + case.body)
            received = b""
            while piece := connection.recv(65_536):
                received += piece
        return received


def header(response: bytes, name: str) -> str:
    for line in response.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]:
        if line.lower().startswith(name.lower().encode() + b":"):
            return line.partition(b":")[2].strip().decode("utf-8", "replace")
    return ""


def target_of(case: ValidationCase) -> str:
    return case.target if case.target.startswith(f"/{case.kind}/") else f"/{case.kind}{case.target}"


def parsed(challenges: str) -> List[Tuple[str, Dict[str, str]]]:
    """The challenges of `WWW-Authenticate`, read strictly: RFC 9110 section 11.6.1, with quoted values only."""
    found: List[Tuple[str, Dict[str, str]]] = []
    rest = challenges
    while rest:
        token = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
        # RFC 6750 section 3: what the descriptions may have.
        parameter = re.compile(rf'({token})="([\x20\x21\x23-\x5b\x5d-\x7e]*)"(, |$)')
        scheme = re.match(rf"({token})( |, |$)", rest)
        assert scheme, challenges
        rest, members = rest[scheme.end():], {}
        while each := parameter.match(rest):
            assert each[1] not in members, challenges
            members[each[1]], rest = each[2], rest[each.end():]
        found.append((scheme[1], members))
    return found


class ValidateRequest:
    """The sidecar's own judgement of the requests, as an API asks for it."""

    def __init__(self, connection: Any, certificates: Dict[str, Certificate]) -> None:
        self._connection = connection
        self._certificates = certificates

    def judge(self, case: ValidationCase) -> Verdict:
        for earlier in case.before:
            self._call(earlier)
        result = self._call(case)
        if result["valid"]:
            assert "error" not in result and "response" not in result, result
            return Verdict(result["claims"]["sub"].encode())
        assert "claims" not in result, result
        response = result["response"]
        assert response["status"] in (400, 401, 403), result
        challenges = parsed(response["headers"]["WWW-Authenticate"])
        assert {scheme for scheme, _ in challenges} <= {"Bearer", "DPoP"} and challenges, result
        # What the client has sent appears nowhere in the answer, so that no log of it has a secret.
        secrets = {part for _, value in case.fields for part in re.split(r"[ .,]", value) if len(part) > 40}
        assert not [secret for secret in secrets if secret in json.dumps(result)], (case.name, result)
        return Verdict(None, f"{result['error']['code']}: {response['status']} {challenges}")

    def _call(self, case: ValidationCase) -> Dict[str, Any]:
        scheme = "https" if case.kind == "mtls" else "http"
        fields: Dict[str, List[str]] = {}
        for name, value in case.fields:
            # As a server passes them on: RFC 9110 section 5.5 excludes the blanks around a value.
            fields.setdefault(name, []).append(value.strip(" \t"))
        params: Dict[str, Any] = {
            "issuer": "corp", "method": case.method, "url": f"{scheme}://{case.host}{target_of(case)}",
            "headers": {name: values[0] if len(values) == 1 else values for name, values in fields.items()},
            "audience": AUDIENCE, "requiredScopes": [SCOPE],
            # As the locations of the other server: a proof is needed, or it is not looked at.
            "dpop": "required" if case.kind == "dpop" else "optional",
        }
        if case.certificate:
            params["clientCertificate"] = self._certificates[case.certificate].pem
        return self._connection.call("validateRequest", params)
