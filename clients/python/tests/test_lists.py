"""Lists that come in pages, as iterators over all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from harness.sidecar import Sidecar
from loop import in_loop

import postern_auth
from postern_auth import AsyncClient, Client, Grant
from postern_auth.testing import FakePostern
from postern_auth.types import Session, Task


@pytest.fixture(scope="module")
def crowded(sidecar: Sidecar) -> Iterator[tuple[str, list[str], list[str]]]:
    """A sidecar's path, and what is more than two pages of its sessions and tasks."""
    with Client(sidecar.path, timeout=20) as client:
        sessions = [
            client.create_session("am", Grant.from_tokens(access_token=f"a{number}", expires_in=600)).session
            for number in range(260)
        ]
        tasks = [client.fetch_resource("open", "status/200").task for _ in range(260)]
        yield sidecar.path, sessions, tasks
        for session in sessions:
            client.end_session(session)


def test_every_session_and_every_task_comes_once(crowded: tuple[str, list[str], list[str]]) -> None:
    """Catches a list that ends with its first page, and one that begins again."""
    path, sessions, tasks = crowded
    with Client(path, timeout=20) as client:
        for limit in (None, 7, 1000):
            listed = list(client.iter_sessions(limit=limit))
            assert {type(one) for one in listed} == {Session}
            names = [one.session for one in listed]
            assert len(names) == len(set(names)) and [one for one in names if one in sessions] == sessions
            begun = list(client.iter_tasks(limit=limit))
            assert {type(task) for task in begun} == {Task}
            assert [task.task for task in begun if task.task in tasks] == tasks[::-1]


@in_loop
async def test_asynchronously(crowded: tuple[str, list[str], list[str]]) -> None:
    path, sessions, tasks = crowded
    async with AsyncClient(path, timeout=20) as client:
        names = [one.session async for one in client.iter_sessions()]
        assert len(names) == len(set(names)) and [one for one in names if one in sessions] == sessions
        assert [one.task async for one in client.iter_tasks() if one.task in tasks] == tasks[::-1]


def test_a_page_is_asked_for_when_it_is_needed() -> None:
    """Who leaves the loop early pays for what was looked at; a cursor that is no longer good is told."""
    postern = FakePostern()
    pages = postern.when.list_sessions().returns({"sessions": [], "nextCursor": "restarted"})
    postern.when.list_sessions(cursor="restarted").fails("invalid_params", path="/cursor")
    iterator = postern.iter_sessions(limit=2)
    assert postern.calls == []
    with pytest.raises(postern_auth.RequestError) as raised:
        next(iterator)
    assert raised.value.path == "/cursor"
    assert [call.params for call in pages.calls] == [{"limit": 2}]
    assert postern.calls[-1].params == {"limit": 2, "cursor": "restarted"}
