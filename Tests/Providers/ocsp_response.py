"""Makes any OCSP response with `cryptography`: `openssl ocsp` makes no expired ones. Prints its DER in base64.

usage: ocsp_response.py CERTIFICATE ISSUER SIGNER SIGNER_KEY good|revoked|unknown THIS_UPDATE NEXT_UPDATE
(times in seconds from now, or -)
"""
from __future__ import annotations

import base64
import datetime
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509 import ocsp

certificate, issuer, signer = (x509.load_pem_x509_certificate(Path(path).read_bytes()) for path in sys.argv[1:4])
key = serialization.load_pem_private_key(Path(sys.argv[4]).read_bytes(), None)
status, first, last = sys.argv[5:8]
now = datetime.datetime.now(datetime.timezone.utc)
statuses = {
    "good": ocsp.OCSPCertStatus.GOOD, "revoked": ocsp.OCSPCertStatus.REVOKED, "unknown": ocsp.OCSPCertStatus.UNKNOWN}
response = ocsp.OCSPResponseBuilder().add_response(
    cert=certificate, issuer=issuer, algorithm=hashes.SHA1(), cert_status=statuses[status],
    this_update=now + datetime.timedelta(seconds=int(first)),
    next_update=None if last == "-" else now + datetime.timedelta(seconds=int(last)),
    revocation_time=now - datetime.timedelta(hours=1) if status == "revoked" else None,
    revocation_reason=x509.ReasonFlags.key_compromise if status == "revoked" else None,
).responder_id(ocsp.OCSPResponderEncoding.HASH, signer)
if signer != issuer:
    response = response.certificates([signer])
made = response.sign(key, hashes.SHA256())
print(base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode())
