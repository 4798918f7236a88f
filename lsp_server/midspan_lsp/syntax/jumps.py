"""Where `break` and `continue` may stand: within a loop, `break` in a switch too, but not across a function.

Not asked in C and C++, where macros make loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from midspan_lsp.syntax.refusals import Rule, outside


@dataclass(frozen=True)
class _Kinds:
    """Kinds of nodes of a language.

    Attributes:
        loops: what `continue` may stand in.
        switches: what else `break` may stand in.
        functions: what ends the search.
        word: how the kinds of both jumps end.
    """

    loops: tuple[str, ...]
    switches: tuple[str, ...]
    functions: tuple[str, ...]
    word: str = "statement"


_C_LOOPS = ("for_statement", "while_statement", "do_statement")
_SCRIPT = _Kinds(
    (*_C_LOOPS, "for_in_statement", "labeled_statement"),
    ("switch_statement",),
    (
        *("function_declaration", "function_expression", "arrow_function", "method_definition"),
        *("generator_function", "generator_function_declaration", "class_static_block"),
    ),
)
_KINDS = {
    "python": _Kinds(("for_statement", "while_statement"), (), ("function_definition", "class_definition")),
    **dict.fromkeys(("javascript", "javascriptreact", "typescript", "typescriptreact"), _SCRIPT),
    "lua": _Kinds(
        ("for_statement", "while_statement", "repeat_statement"), (), ("function_declaration", "function_definition")
    ),
    "php": _Kinds(
        (*_C_LOOPS, "foreach_statement"),
        ("switch_statement",),
        ("function_definition", "method_declaration", "anonymous_function"),
    ),
    "java": _Kinds(
        (*_C_LOOPS, "enhanced_for_statement", "labeled_statement"),
        ("switch_expression", "switch_statement"),
        ("method_declaration", "constructor_declaration", "lambda_expression", "static_initializer"),
    ),
    "csharp": _Kinds(
        (*_C_LOOPS, "foreach_statement"),
        ("switch_statement",),
        ("method_declaration", "local_function_statement", "lambda_expression", "anonymous_method_expression"),
    ),
    "go": _Kinds(
        ("for_statement", "labeled_statement"),
        ("expression_switch_statement", "type_switch_statement", "select_statement"),
        ("function_declaration", "method_declaration", "func_literal"),
    ),
    "rust": _Kinds(
        ("loop_expression", "while_expression", "for_expression"),
        (),
        ("function_item", "closure_expression"),
        "expression",
    ),
}


def jumps(language_id: str) -> dict[str, Rule]:
    """A rule for each kind of jump that a language has."""
    kinds = _KINDS.get(language_id)
    if kinds is None:
        return {}
    find = _unlabelled if language_id == "rust" else outside
    also = kinds.switches if language_id == "php" else ()  # where `continue` does what `break` does
    return {
        f"break_{kinds.word}": find(*kinds.loops, *kinds.switches, within=kinds.functions),
        f"continue_{kinds.word}": find(*kinds.loops, *also, within=kinds.functions),
    }


def _unlabelled(*kinds: str, within: tuple[str, ...]) -> Rule:
    """The same, but not of a jump with a label: that may leave any block that has it."""
    rule = outside(*kinds, within=within)
    return lambda node, source: None if any(child.type == "label" for child in node.children) else rule(node, source)
