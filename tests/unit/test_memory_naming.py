"""Names made of words are renamed word by word, in upper and lower case as they were."""

from __future__ import annotations

import pytest
from midspan_lsp.memory.naming import by_words
from test_memory_drafts import drafts, texts


class Everything:
    """All names are known."""

    def __contains__(self, name: object) -> bool:
        return True


@pytest.mark.parametrize(
    ("there", "here", "token", "wanted"),
    [
        ("user", "order", "get_user", "get_order"),
        ("user", "order", "getUserName", "getOrderName"),
        ("user", "order", "UserStore", "OrderStore"),
        ("user", "order", "MAX_USER_AGE", "MAX_ORDER_AGE"),
        ("user", "order", "_user2", "_order2"),
        ("get_user", "get_order", "user_id", "order_id"),
        ("parseUser", "parseOrder", "user", "order"),
        ("HTTPClient", "HTTPServer", "http_client", "http_server"),
    ],
)
def test_a_word_is_renamed_in_other_names(there: str, here: str, token: str, wanted: str) -> None:
    assert by_words({there: here}, [token, "(", "other", there], Everything()) == {token: wanted}


@pytest.mark.parametrize(
    ("names", "token"),
    [
        ({}, "user"),
        ({"user": "order"}, "users_of"),  # another word
        ({"i": "j"}, "get_i"),  # too short
        ({"user": "order", "the_user": "the_client"}, "get_user"),  # called this and that
        ({"user": "sales_order"}, "get_user"),  # no word for a word
        ({"user1": "user2"}, "get_user1"),
        ({"user": "User"}, "get_user"),
    ],
)
def test_what_is_unsure_is_left_alone(names: dict[str, str], token: str) -> None:
    assert by_words(names, [token], Everything()) == {}


def test_no_name_is_made_up() -> None:
    assert by_words({"user": "order"}, ["get_user", "set_user"], {"get_order"}) == {"get_user": "get_order"}
    other = "def find(user):\n    check(user)\n    return get_user(3)\n"
    text = "def find(order):\n    check(order)\n    return |\n"
    assert "get_order(3)" not in texts(drafts(text, other))
    found = drafts(text, other, "def get_order(number):\n    pass\n")
    assert next(draft for draft in found if draft.renamed).text == "get_order(3)"
