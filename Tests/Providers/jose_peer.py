"""Makes and reads compact JWEs with joserfc, which shares no code with the sidecar. One JSON object a line."""
from __future__ import annotations

import base64
import json
import sys
from typing import Any, Dict

from joserfc import jwe
from joserfc.jwk import JWKRegistry
from joserfc.jwe import JWERegistry


def answer(call: Dict[str, Any]) -> Dict[str, Any]:
    if call["do"] == "generate":
        size = 2048 if call["kty"] == "RSA" else 256
        return {"key": JWKRegistry.generate_key(call["kty"], call["crv"] or size, private=True).as_dict(private=True)}
    key = JWKRegistry.import_key(call["key"])
    if call["do"] == "pem":
        return {"pem": key.as_pem(private=call["private"]).decode()}
    registry = JWERegistry(algorithms=[call["alg"], call["enc"], "DEF"])
    registry.max_ciphertext_length = 1 << 27
    if call["do"] == "encrypt":
        header = {"alg": call["alg"], "enc": call["enc"], **call["header"]}
        return {"token": jwe.encrypt_compact(header, base64.b64decode(call["content"]), key, registry=registry)}
    found = jwe.decrypt_compact(call["token"], key, registry=registry)
    assert found.plaintext is not None
    return {"content": base64.b64encode(found.plaintext).decode(), "header": found.protected}


for line in sys.stdin:
    try:
        result = answer(json.loads(line))
    except Exception as error:  # the caller decides what it means
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result), flush=True)
