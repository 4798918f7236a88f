"""Which rules each language has, by kind of node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from midspan_lsp.syntax.haskell import BRACKETS, braces_for_a_value, left_of_its_block, without_endif, without_if
from midspan_lsp.syntax.jumps import jumps
from midspan_lsp.syntax.keywords import LANGUAGES_WITH_KEYWORDS, no_names
from midspan_lsp.syntax.markup import with_semicolon, within_itself
from midspan_lsp.syntax.names import also_a_table, also_a_value, name_twice, said_again, same_again
from midspan_lsp.syntax.refusals import (
    Rule,
    access_within,
    always,
    at_top,
    at_top_of_package,
    bare_after_keyword,
    brace_on_next_line,
    either,
    empty,
    end_tag_of_another,
    in_a_body,
    in_marked_class,
    not_first,
    not_last,
    of_nothing,
    outside,
    plain_expression,
    reserved,
    select_twice,
    without,
)


@dataclass(frozen=True)
class Rules:
    """What a language refuses, by kind of node: whatever follows, or if nothing more follows.

    Attributes:
        wrong: whatever follows.
        unfinished: if nothing more follows.
        closers: words that end a block, and are taken for names by the grammar where there is none.
    """

    wrong: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    unfinished: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    closers: tuple[bytes, ...] = ()


_STATEMENTS = [f"{word}_statement" for word in ("expression", "if", "for", "while", "do", "return", "switch")]
_TOP = dict.fromkeys(_STATEMENTS, at_top)
_MORE_STATEMENTS = [f"{word}_statement" for word in ("break", "continue", "goto", "throw", "try")]
_EXPRESSIONS = [
    f"{word}_expression"
    for word in ("call", "field", "if", "for", "while", "match", "infix", "postfix", "prefix", "assignment", "instance")
]
_TRY = {"try_statement": without("catch_clause", "finally_clause")}
_SCRIPT = Rules(
    wrong={"jsx_element": end_tag_of_another},
    unfinished=_TRY,
)
_OWN: dict[str, Rules] = {
    "python": Rules(
        wrong={
            "print_statement": always,
            "exec_statement": always,
            "argument_list": either(bare_after_keyword, name_twice),
            "parameters": either(bare_after_keyword, name_twice),
            "lambda_parameters": either(bare_after_keyword, name_twice),
            "return_statement": outside("function_definition", within=("class_definition",)),
            "yield": outside("function_definition", "lambda", within=("class_definition",)),
        },
        unfinished={
            "block": empty,
            "try_statement": without("except_clause", "except_group_clause", "finally_clause"),
        },
    ),
    "javascript": _SCRIPT,
    "javascriptreact": _SCRIPT,
    "typescript": _SCRIPT,
    "typescriptreact": _SCRIPT,
    "java": Rules(wrong=_TOP, unfinished={**_TRY, "modifiers": access_within("local_variable_declaration")}),
    "csharp": Rules(
        unfinished={
            **_TRY,
            "modifier": access_within("local_declaration_statement", "local_function_statement"),
            "identifier": reserved(b"return", b"throw", b"if", b"else", b"for", b"foreach", b"while", b"switch"),
        }
    ),
    "php": Rules(wrong={"namespace_use_declaration": same_again, "formal_parameters": name_twice}),
    "c": Rules(wrong=_TOP),
    "cpp": Rules(
        wrong={
            **dict.fromkeys(_STATEMENTS[1:], either(at_top, in_marked_class)),
            **dict.fromkeys([*_MORE_STATEMENTS, "for_range_loop"], in_marked_class),
            "expression_statement": at_top,
            "field_initializer_list": in_a_body,
        }
    ),
    "haskell": Rules(
        wrong={
            "cpp": without_if,
            **dict.fromkeys(BRACKETS, left_of_its_block),
            "record": either(left_of_its_block, braces_for_a_value),
        },
        unfinished={"top_splice": plain_expression, "cpp": without_endif},
    ),
    "go": Rules(
        wrong={
            "block": brace_on_next_line,
            "package_clause": not_first,
            **_TOP,
            **dict.fromkeys(
                ("short_var_declaration", "assignment_statement", "go_statement", "defer_statement"), at_top
            ),
        }
    ),
    "shellscript": Rules(
        wrong={"command_name": reserved(b"then", b"do", b"done", b"fi", b"esac", b"else", b"elif", b"}")},
        closers=(b"}", b"done", b"fi", b"esac"),
    ),
    "ruby": Rules(closers=(b"end",)),
    "lua": Rules(
        wrong={
            "identifier": reserved(b"local", b"end", b"then", b"do", b"else", b"elseif", b"until"),
            "return_statement": not_last,
        },
        closers=(b"end",),
    ),
    "sql": Rules(wrong={"identifier": select_twice}),
    "toml": Rules(wrong={"pair": either(said_again, also_a_table), "table": either(said_again, also_a_value)}),
    "html": Rules(wrong={"erroneous_end_tag": always, "start_tag": within_itself}),
    "css": Rules(wrong={"arguments": with_semicolon}),
    "scala": Rules(
        wrong=dict.fromkeys([*_EXPRESSIONS, "identifier", "operator_identifier", "string"], at_top_of_package),
        unfinished={"access_modifier": access_within("block")},
    ),
    "rust": Rules(
        wrong={"expression_statement": at_top, "let_declaration": at_top}, unfinished={"attribute_item": of_nothing}
    ),
}


def _with_words(language_id: str) -> Rules:
    rules, more = _OWN.get(language_id, Rules()), {**no_names(language_id), **jumps(language_id)}
    both = {kind: either(rules.wrong[kind], more[kind]) for kind in rules.wrong.keys() & more.keys()}
    return replace(rules, wrong={**rules.wrong, **more, **both})


RULES = {language_id: _with_words(language_id) for language_id in {*_OWN, *LANGUAGES_WITH_KEYWORDS}}
