"""What code actions and commands carry, and the edits that come of them: between the protocol and the engine."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types as lsp

from midspan_lsp.engine.edits import edits_between
from midspan_lsp.lsp.convert import range_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from midspan_lsp.documents import DocumentSnapshot, PositionEncoding
    from midspan_lsp.engine.gaps import Rewrite

_ANNOTATION = "midspan"


class Action(Enum):
    """What can be done, by the name of its command."""

    REFILL = "midspan.refill"
    FILL = "midspan.fill"
    REPAIR = "midspan.repair"


KINDS = {
    Action.REFILL: "refactor.rewrite.midspan.refill",
    Action.FILL: "refactor.rewrite.midspan.fill",
    Action.REPAIR: "quickfix.midspan.repair",
}
NOTHING = {
    Action.REFILL: "Midspan has found no other way to write this.",
    Action.FILL: "Midspan has found nothing to fill in here.",
    Action.REPAIR: "Midspan has found no repair.",
}
STALE = "The text has changed since: Midspan's edit was not applied."


@dataclass(frozen=True)
class Offer:
    """One action for one place of one text: a code action's data and a command's argument.

    Attributes:
        action: what is to be done.
        uri: of the document.
        place: a range of it; None: all.
        version: the document's, for which alone it is meant; None: whichever it has when this comes.
        number: which of several ways, from 1.
    """

    action: Action
    uri: str
    place: lsp.Range | None
    version: int | None = None
    number: int = 1

    def as_object(self) -> dict[str, Any]:
        """For the editor, which only keeps it."""
        edges = self.place and {
            name: {"line": edge.line, "character": edge.character}
            for name, edge in (("start", self.place.start), ("end", self.place.end))
        }
        return {
            "action": self.action.value,
            "uri": self.uri,
            "range": edges,
            "version": self.version,
            "number": self.number,
        }


def offer_of(value: object, action: Action | None = None) -> Offer | None:
    """What an editor has kept, or a user has written; None if it has not the shape."""
    if not isinstance(value, dict):
        return None
    given = cast("dict[str, Any]", value)
    try:
        action = action or Action(given["action"])
        place = given.get("range") and lsp.Range(*(_position(given["range"][name]) for name in ("start", "end")))
    except (KeyError, TypeError, ValueError):
        return None
    uri, version, number = given.get("uri"), given.get("version"), given.get("number", 1)
    is_number = isinstance(number, int) and number >= 1
    if not isinstance(uri, str) or not isinstance(version, int | None) or not is_number:
        return None
    return Offer(action, uri, place or None, version, number)


def covers(only: Sequence[str] | None, action: Action) -> bool:
    """Whether an editor that asks for these kinds wants an action; kinds are hierarchical."""
    kind = KINDS[action]
    return only is None or any(not one or kind == one or kind.startswith(f"{one}.") for one in only)


def workspace_edit(
    snapshot: DocumentSnapshot,
    rewrite: Rewrite,
    label: str,
    encoding: PositionEncoding,
    offered: lsp.WorkspaceEditClientCapabilities | None,
) -> lsp.WorkspaceEdit:
    """A rewrite as the editor's edit.

    It names the version of the text, so that the editor refuses it for another one, and where the editor can show a
    preview it is to ask first; both as far as it says that it can.
    """
    spans = [
        (range_of(snapshot, edit.span, encoding), edit.text) for edit in edits_between(snapshot.text, rewrite.after)
    ]
    if offered is None or not offered.document_changes:
        return lsp.WorkspaceEdit(changes={snapshot.uri: [lsp.TextEdit(*one) for one in spans]})
    document = lsp.OptionalVersionedTextDocumentIdentifier(snapshot.uri, snapshot.version)
    if offered.change_annotation_support is None:
        plain = [lsp.TextEdit(*one) for one in spans]
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(document, plain)])
    annotated = [lsp.AnnotatedTextEdit(_ANNOTATION, *one) for one in spans]
    annotation = lsp.ChangeAnnotation(label, needs_confirmation=True, description=f"{rewrite.probability:.0%} likely")
    return lsp.WorkspaceEdit(
        document_changes=[lsp.TextDocumentEdit(document, annotated)], change_annotations={_ANNOTATION: annotation}
    )


def _position(value: dict[str, Any]) -> lsp.Position:
    return lsp.Position(int(value["line"]), int(value["character"]))
