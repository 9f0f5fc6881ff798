"""One request shown to several replicas at the same moment: which of them accept it."""
from __future__ import annotations

import asyncio
import json
from typing import Any, Dict, List, Sequence, Tuple

#: Connections to each replica, and so requests that are shown at a time.
CONNECTIONS = 64


def outcomes(paths: Sequence[str], requests: Sequence[Dict[str, Any]]) -> List[Tuple[bool, ...]]:
    """Calls `validateRequest` with each of `requests` at every socket at once: for each request, whether each replica
    accepted it. Fails on any answer but an acceptance or that the proof was used before."""
    return asyncio.run(_outcomes(paths, requests))


async def _outcomes(paths: Sequence[str], requests: Sequence[Dict[str, Any]]) -> List[Tuple[bool, ...]]:
    found: Dict[int, Tuple[bool, ...]] = {}
    left = iter(enumerate(requests))

    async def work() -> None:
        connections = [await asyncio.open_unix_connection(path, limit=1 << 20) for path in paths]
        for number, params in left:
            line = json.dumps({"jsonrpc": "2.0", "id": number, "method": "validateRequest", "params": params}) + "\n"
            # In turn, so that neither replica is always the first.
            turned = connections[number % len(paths):] + connections[: number % len(paths)]
            for _, writer in turned:
                writer.write(line.encode())
            answers = await asyncio.gather(*(reader.readline() for reader, _ in connections))
            found[number] = tuple(_is_accepted(answer, number) for answer in answers)
        for _, writer in connections:
            writer.close()

    await asyncio.gather(*(work() for _ in range(min(CONNECTIONS, len(requests)))))
    return [found[number] for number in range(len(requests))]


def _is_accepted(line: bytes, number: int) -> bool:
    answer = json.loads(line) if line else {}
    assert answer.get("id") == number and "result" in answer, answer
    result = answer["result"]
    if not result["valid"]:
        assert result["error"]["code"] == "dpop_proof_replayed", result
    return bool(result["valid"])
