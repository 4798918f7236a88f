"""Code actions and commands beyond the cursor: the real server and engine over stdio, around a scripted model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from raw_client import RawClient
from text_model import TextModel

COMMAND = [sys.executable, str(Path(__file__).with_name("actions_server.py"))]
CODE_ACTION, RESOLVE, EXECUTE = "textDocument/codeAction", "codeAction/resolve", "workspace/executeCommand"

HOLES = "# 😀\ndef f(a):\n    b = ...\n    return ...\n# answers:1|b\n"
BROKEN = "def f(a)\n    return a\n# answers:x\n"
SELECT = "s = '😀', first + 1\n# answers:second|second (|third\n"

LITERALS = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
LAZY = {**LITERALS, "dataSupport": True, "resolveSupport": {"properties": ["edit"]}}
VERSIONED = {"documentChanges": True}
PREVIEW = {**VERSIONED, "changeAnnotationSupport": {"groupsOnLabel": True}}


class Editor(RawClient):
    """An editor with one document, which it changes as it is told."""

    async def begin(self, text: str, name: str = "a.py", *, actions: Any = LAZY, edits: Any = PREVIEW) -> None:
        capabilities = {
            "textDocument": {"codeAction": actions},
            "workspace": {"applyEdit": True, "workspaceEdit": edits},
        }
        self.advertised = await self.initialize(capabilities=capabilities)
        self.name, self.text, self.version = name, text, 1
        self.open(name, text)
        async with asyncio.timeout(10):
            while (await self.request("midspan/work"))["result"] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    @property
    def uri(self) -> str:
        return f"file:///{self.name}"

    def edit_by_hand(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        self.change(self.name, self.version, {"text": text})

    def place(self, part: str) -> dict[str, Any]:
        """Where a text stands, in UTF-16."""
        begin = self.text.index(part)
        edges = (self.text[:begin], self.text[: begin + len(part)])
        units = [len(edge.rsplit("\n", 1)[-1].encode("utf-16-le")) // 2 for edge in edges]
        lines = [edge.count("\n") for edge in edges]
        return {name: {"line": lines[n], "character": units[n]} for n, name in enumerate(("start", "end"))}

    def ask_actions(self, part: str, **context: Any) -> int:
        context = {"diagnostics": [], **context}
        params = {"textDocument": {"uri": self.uri}, "range": self.place(part), "context": context}
        return self.ask(CODE_ACTION, params)

    async def actions(self, part: str, **context: Any) -> dict[str, dict[str, Any]]:
        """What is offered, by title."""
        answer = await self.response(self.ask_actions(part, **context))
        assert "error" not in answer, answer
        return {one["title"]: one for one in answer["result"] or []}

    async def resolved(self, action: dict[str, Any]) -> dict[str, Any]:
        return (await self.request(RESOLVE, action))["result"]

    def applied(self, edit: dict[str, Any]) -> str:
        """The text after an edit, which has to be for this version of it."""
        if "documentChanges" in edit:
            (change,) = edit["documentChanges"]
            assert change["textDocument"] == {"uri": self.uri, "version": self.version}
            edits = change["edits"]
        else:
            edits = edit["changes"][self.uri]
        model = TextModel(self.text, "utf-16")
        for one in sorted(edits, key=lambda one: list(one["range"]["start"].values()), reverse=True):
            start, end = ((edge["line"], edge["character"]) for edge in (one["range"]["start"], one["range"]["end"]))
            model.replace(start, end, one["newText"])
        return model.text

    async def told(self) -> str:
        return (await self.message("window/showMessage"))["params"]["message"]


@asynccontextmanager
async def editing(text: str, **more: Any) -> AsyncIterator[Editor]:
    async with Editor(COMMAND) as editor:
        await editor.begin(text, **more)
        yield editor


async def test_what_can_be_done_is_advertised() -> None:
    async with editing("x = 1\n") as editor:
        capabilities = editor.advertised["capabilities"]
    assert capabilities["codeActionProvider"]["resolveProvider"] is True
    kinds = set(capabilities["codeActionProvider"]["codeActionKinds"])
    assert kinds == {"refactor.rewrite.midspan.refill", "refactor.rewrite.midspan.fill", "quickfix.midspan.repair"}
    commands = capabilities["executeCommandProvider"]["commands"]
    assert {"midspan.refill", "midspan.fill", "midspan.repair"} <= set(commands)


async def test_what_is_offered_depends_on_the_place() -> None:
    async with editing(HOLES) as editor:
        assert list(await editor.actions("")) == []
        assert "Midspan: fill the 2 holes here" in await editor.actions("return")
        assert list(await editor.actions("return", only=["quickfix"])) == []
        assert list(await editor.actions("return", only=["source"])) == []
    async with editing(BROKEN) as editor:
        titles = list(await editor.actions("def f(a)", only=["quickfix"]))
        assert titles == ["Midspan: repair the syntax error"]


async def test_holes_are_filled_in_a_preview_of_this_version() -> None:
    async with editing(HOLES) as editor:
        action = (await editor.actions("return"))["Midspan: fill the 2 holes here"]
        assert "edit" not in action
        edit = (await editor.resolved(action))["edit"]
        assert editor.applied(edit) == HOLES.replace("b = ...", "b = 1").replace("return ...", "return b")
        assert {one["annotationId"] for one in edit["documentChanges"][0]["edits"]} == {"midspan"}
        assert edit["changeAnnotations"]["midspan"]["needsConfirmation"] is True


async def test_a_selection_has_several_ways_each_an_action_of_its_own() -> None:
    async with editing(SELECT) as editor:
        actions = list((await editor.actions("first")).values())
        assert len(actions) == 3
        texts = [editor.applied((await editor.resolved(one))["edit"]) for one in actions[:2]]
        assert texts == [SELECT.replace("first", word) for word in ("second", "third")]
        assert "edit" not in await editor.resolved(actions[2]), "a third that is valid there is not"
        assert "no other way" in await editor.told()


async def test_a_menu_of_just_these_says_what_they_would_write() -> None:
    async with editing(SELECT) as editor:
        actions = await editor.actions("first", only=["refactor"], triggerKind=1)
        assert list(actions) == ["Midspan: second", "Midspan: third"]
        chosen = await editor.resolved(actions["Midspan: third"])
        assert editor.applied(chosen["edit"]) == SELECT.replace("first", "third")
        assert len(await editor.actions("first", only=["refactor"], triggerKind=2)) == 3, "not for every selection"


async def test_a_syntax_error_is_repaired_and_its_diagnostics_are_named() -> None:
    async with editing(BROKEN) as editor:
        error = {"range": editor.place("def f(a)"), "message": "expected ':'", "severity": 1}
        hint = {**error, "message": "no docstring", "severity": 4}
        actions = await editor.actions("def f(a)", diagnostics=[error, hint])
        action = actions["Midspan: repair the syntax error"]
        assert [one["message"] for one in action["diagnostics"]] == ["expected ':'"]
        assert editor.applied((await editor.resolved(action))["edit"]) == BROKEN.replace("f(a)", "f(a):")


async def test_an_action_for_an_older_text_has_no_edit() -> None:
    async with editing(HOLES) as editor:
        action = (await editor.actions("return"))["Midspan: fill the 2 holes here"]
        editor.edit_by_hand("\n" + HOLES)
        assert "edit" not in await editor.resolved(action)
        assert "has changed" in await editor.told()


async def test_a_text_that_changes_meanwhile_gets_no_edit() -> None:
    text = HOLES.replace("1|b", "wait")
    async with editing(text) as editor:
        action = (await editor.actions("return"))["Midspan: fill the 2 holes here"]
        asked = editor.ask(RESOLVE, action)
        await asyncio.sleep(0.2)
        editor.edit_by_hand("\n" + text)
        assert "edit" not in (await editor.response(asked))["result"]
        assert "has changed" in await editor.told()


async def test_a_cancelled_action_is_told_so() -> None:
    async with editing(HOLES.replace("1|b", "wait")) as editor:
        action = (await editor.actions("return"))["Midspan: fill the 2 holes here"]
        asked = editor.ask(RESOLVE, action)
        await asyncio.sleep(0.2)
        editor.notify("$/cancelRequest", {"id": asked})
        assert (await editor.response(asked))["error"]["code"] == -32800
        assert await editor.actions("return"), "the server goes on"


async def test_a_command_has_the_editor_apply_its_edit() -> None:
    async with editing(BROKEN, edits=VERSIONED) as editor:
        editor.answers["workspace/applyEdit"] = {"applied": True}
        answer = await editor.request(EXECUTE, {"command": "midspan.repair", "arguments": [{"uri": editor.uri}]})
        assert answer["result"] == {"applied": True}
        edit = (await editor.message("workspace/applyEdit"))["params"]["edit"]
        assert "changeAnnotations" not in edit
        assert editor.applied(edit) == BROKEN.replace("f(a)", "f(a):")


@pytest.mark.parametrize(
    "arguments", [[], [None], [{}], [{"uri": 1}], [{"uri": "file:///a.py", "range": {"start": {}}}], [{"uri": "x"}]]
)
async def test_a_command_without_a_place_does_nothing(arguments: list[Any]) -> None:
    async with editing(HOLES) as editor:
        answer = await editor.request(EXECUTE, {"command": "midspan.fill", "arguments": arguments})
        assert answer["result"] == {"applied": False}
        assert "place" in await editor.told()


async def test_a_command_for_an_older_version_does_nothing() -> None:
    async with editing(HOLES) as editor:
        argument = {"uri": editor.uri, "range": editor.place("return"), "version": 1}
        editor.edit_by_hand(HOLES + "\n")
        answer = await editor.request(EXECUTE, {"command": "midspan.fill", "arguments": [argument]})
        assert answer["result"] == {"applied": False}
        assert not [one for one in editor.others if one.get("method") == "workspace/applyEdit"]


@pytest.mark.parametrize("actions", [LITERALS, {}], ids=["without resolve", "without code actions"])
async def test_editors_that_know_less_get_commands(actions: Any) -> None:
    async with editing(HOLES, actions=actions, edits={}) as editor:
        offered = (await editor.actions("return"))["Midspan: fill the 2 holes here"]
        command = offered if actions == {} else offered["command"]
        assert isinstance(command["command"], str)
        editor.answers["workspace/applyEdit"] = {"applied": True}
        params = {"command": command["command"], "arguments": command["arguments"]}
        assert (await editor.request(EXECUTE, params))["result"] == {"applied": True}
        edit = (await editor.message("workspace/applyEdit"))["params"]["edit"]
        assert editor.applied(edit) == HOLES.replace("b = ...", "b = 1").replace("return ...", "return b")


async def test_a_failure_of_the_model_is_told_and_is_no_error() -> None:
    async with editing(HOLES.replace("1|b", "fail")) as editor:
        action = (await editor.actions("return"))["Midspan: fill the 2 holes here"]
        assert "edit" not in await editor.resolved(action)
        assert "nonsense" in await editor.told()


async def test_where_nothing_may_be_suggested_nothing_is_offered() -> None:
    async with editing(HOLES, name=".env") as editor:
        assert await editor.actions("return") == {}


async def test_somebody_elses_action_stays_as_it_is() -> None:
    async with editing(HOLES) as editor:
        assert (await editor.resolved({"title": "x", "data": {"a": 1}})) == {"title": "x", "data": {"a": 1}}
