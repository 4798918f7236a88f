"""Turns: bounded, fair, and given back however a request ends."""

from __future__ import annotations

import asyncio

import pytest
from midspan_lsp.errors import Overloaded
from midspan_lsp.gateway.admission import Admission
from midspan_lsp.gateway.answering import cut


async def test_clients_take_turns_however_much_each_asks() -> None:
    admission, order = Admission(1, 32, 60), []

    async def ask(client: str, number: int) -> None:
        async with admission.turn(client):
            order.append((client, number))
            await asyncio.sleep(0)

    async with admission.turn("first"):
        tasks = [asyncio.create_task(ask("greedy", number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(ask("editor", 0)))
        await asyncio.sleep(0)
        assert admission.n_waiting == 5
    await asyncio.gather(*tasks)
    assert order == [("greedy", 0), ("editor", 0), ("greedy", 1), ("greedy", 2), ("greedy", 3)]
    assert (admission.n_waiting, admission.n_working) == (0, 0)


async def test_one_too_many_is_turned_away_and_told_when_to_come_again() -> None:
    admission = Admission(1, 1, 60)
    async with admission.turn("a"):
        waiting = asyncio.create_task(_turn(admission))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as caught:
            await _turn(admission)
        assert 1 <= caught.value.retry_after_s <= 60
    await waiting
    await _turn(admission)


async def test_who_waits_too_long_is_turned_away() -> None:
    admission = Admission(1, 8, 0.01)
    async with admission.turn("a"):
        with pytest.raises(Overloaded):
            await _turn(admission)
        assert admission.n_waiting == 0
    await _turn(admission)


async def test_a_turn_is_given_back_when_its_request_is_cancelled_or_fails() -> None:
    admission = Admission(1, 8, 60)
    async with admission.turn("a"):
        tasks = [asyncio.create_task(_turn(admission)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
    tasks[1].cancel()  # in the moment in which its turn has come
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not tasks[2].cancelled()
    with pytest.raises(ZeroDivisionError):
        async with admission.turn("a"):
            raise ZeroDivisionError
    assert (admission.n_waiting, admission.n_working) == (0, 0)


async def _turn(admission: Admission) -> None:
    async with admission.turn("b"):
        await asyncio.sleep(0)


def test_a_middle_ends_where_the_client_says() -> None:
    assert cut("a = b + c\nd", ("\n",), None) == ("a = b + c", "stop")
    assert cut("a = b<|endoftext|>", (), 64) == ("a = b", "stop")
    assert cut("self.width + 1", (), 3) == ("self.width", "length")
    assert cut("self.width", (), 3) == ("self.width", "stop")
    assert cut("", ("x",), 1) == ("", "stop")
