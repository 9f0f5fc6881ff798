"""The fake and the binary: one conversation with every method, and the same rejections of wrong params."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

import pytest
import test_methods
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.signing import SigningKey

from postern_auth import Client, PosternError
from postern_auth._schema import methods, params_violation
from postern_auth.testing import FakePostern


class Recorder(Client):
    """A client that keeps what was said."""

    said: list[tuple[str, dict[str, Any], Any]]

    def call(self, method: str, params: Mapping[str, Any] | None = None, **named: Any) -> Any:
        own = json.loads(json.dumps(dict(params or {})))
        try:
            answer = super().call(method, params, **named)
        except PosternError as error:
            self.said.append((method, own, error))
            raise
        self.said.append((method, own, answer))
        return answer


def conversation(client: Recorder, playground: Playground, key: SigningKey) -> list[tuple[str, dict[str, Any], Any]]:
    """Calls every method of the real sidecar."""
    client.said = []
    test_methods.test_control(client)
    test_methods.test_id_tokens(client, key)
    test_methods.test_access_tokens(client, key)
    test_methods.test_logout_tokens(client, key)
    test_methods.test_introspection_and_revocation(client, playground)
    test_methods.test_signatures_and_encryption(client)
    test_methods.test_logins_with_a_browser_and_on_a_device(client)
    test_methods.test_sessions(client, playground)
    test_methods.test_advice_and_logins_step_by_step(client, playground)
    test_methods.test_fetches_and_tasks(client)
    client.register_delegate()
    client.preauthorize(["a"], provider="none")
    client.invalidate_decisions()
    bearer = {"authorization": "Bearer e30.e30.e30"}
    client.validate_request("GET", "https://api.example.com/", bearer, issuer="play", audience="api")
    endpoint = client.create_endpoint(resources=["orders"], bind_to="connection").endpoint
    client.list_endpoints()
    client.revoke_endpoint(endpoint)
    client.explain_call("fetchResource", params={"resource": "orders", "path": "orders"})
    with pytest.raises(PosternError):
        client.fetch_resource("mine", "orders")
    client.narrow(resources=["open", "orders"])
    return client.said


@pytest.fixture
def recorder(sidecar: Sidecar) -> Iterator[Recorder]:
    with Recorder(sidecar.path, timeout=20) as client:
        yield client


def test_every_method_has_the_same_answers(
    recorder: Recorder,
    playground: Playground,
    start: Callable[..., Sidecar],
    directory: Path,
) -> None:
    """A result that the fake takes for impossible, or returns in another shape; an error of another class."""
    said = conversation(recorder, playground, SigningKey("RS256", "rsa-1"))
    television = test_methods.television_sidecar(start, directory, playground)
    with Recorder(television.path, timeout=20) as client:
        client.said = said
        test_methods.test_a_login_at_adobe_pass(client, playground)
    # The client ends calls with this one, which has no answer.
    assert {method for method, _, _ in said} | {"$/cancelRequest"} == set(methods())
    replay(said)


def replay(said: list[tuple[str, dict[str, Any], Any]]) -> None:
    for method, params, answer in said:
        fake = FakePostern()
        own = {name: value for name, value in params.items() if name != "meta"}
        expectation = fake._core.expect(method, own, lambda value: value)
        if isinstance(answer, PosternError):
            expectation.fails(answer.reason, answer.message, data=answer.data)
            with pytest.raises(type(answer)) as raised:
                fake.call(method, params)
            assert (raised.value.code, raised.value.reason) == (answer.code, answer.reason)
            assert raised.value.data == {"retryable": raised.value.retryable, **answer.data}
        else:
            expectation.returns(answer)
            assert fake.call(method, params) == answer
        assert len(expectation.calls) == 1


#: A value of another type than each.
WRONG = {"string": 1, "integer": "x", "number": "x", "boolean": "x", "array": "x", "object": "x"}


def wrong_params() -> list[Any]:
    """For each method: without what is required, with an unknown param, and with each param of another type."""
    cases: list[Any] = []
    for name, method in methods().items():
        if name == "$/cancelRequest":
            continue
        required = [one for one in method["params"] if one.get("required")]
        whole = {one["name"]: valid(one["schema"]) for one in required}
        cases.append((name, {**whole, "unknownParam": 1}))
        cases.append((name, {"unknownParam": 1}))
        cases += [(name, {k: v for k, v in whole.items() if k != one["name"]}) for one in required]
        for one in method["params"]:
            kind = one["schema"].get("type")
            if kind in WRONG:
                cases.append((name, {**whole, one["name"]: WRONG[kind]}))
            if "enum" in one["schema"]:
                cases.append((name, {**whole, one["name"]: "noSuchValue"}))
            if kind == "object" and one["schema"].get("properties"):
                cases.append((name, {**whole, one["name"]: {"unknownMember": 1}}))
            if kind == "array" and one["schema"].get("items", {}).get("type") in WRONG:
                cases.append((name, {**whole, one["name"]: [WRONG[one["schema"]["items"]["type"]]]}))
    return [
        pytest.param(name, params, id=f"{name}-{'-'.join(params)}-{number}")
        for number, (name, params) in enumerate(cases)
    ]


def valid(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [valid(schema["items"])] if schema.get("items") else []
    if schema.get("type") == "object":
        return {one: valid(schema["properties"][one]) for one in schema.get("required", ())}
    return {"string": "x", "integer": 1, "number": 1, "boolean": True}.get(str(schema.get("type")), "x")


@pytest.mark.parametrize(("method", "params"), wrong_params())
def test_wrong_params_are_rejected_alike(client: Client, method: str, params: dict[str, Any]) -> None:
    """A wrong param that the fake lets through, or rejects for another reason or at another path."""
    assert params_violation(method, params) is not None
    with pytest.raises(PosternError) as real:
        client.call(method, params)
    with pytest.raises(PosternError) as faked:
        FakePostern().call(method, params)
    assert (faked.value.code, faked.value.reason, faked.value.path) == (
        real.value.code,
        real.value.reason,
        real.value.path,
    )
