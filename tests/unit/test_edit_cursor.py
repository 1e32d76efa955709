"""The edit cursor follows a copy and finds the place again after each kind of change."""

from __future__ import annotations

from copydraft.drafting.edit_cursor import EditCursor
from copydraft.tokens import Document

REGION = (10, 11, 12, 13, 14, 15, 16, 17)


def cursor_after(*output: int) -> EditCursor:
    cursor = EditCursor(Document("region", "a.py", "region", REGION))
    cursor.append(output)
    return cursor


def proposed(cursor: EditCursor, limit: int = 3) -> list[int]:
    return list(cursor.candidate(limit).tokens)


def test_the_opening_is_proposed_before_anything_is_written() -> None:
    assert proposed(cursor_after()) == [10, 11, 12]


def test_a_copy_is_followed() -> None:
    assert proposed(cursor_after(10, 11, 12)) == [13, 14, 15]


def test_after_a_replaced_token_the_next_one_is_proposed() -> None:
    assert proposed(cursor_after(10, 11, 99)) == [13, 14, 15]


def test_after_an_insertion_the_old_place_is_found_again() -> None:
    # The inserted text ends with the token before the place, as an inserted line does.
    assert proposed(cursor_after(10, 11, 12, 13, 98, 99, 13)) == [14, 15, 16]


def test_after_a_deletion_the_later_place_is_found() -> None:
    assert proposed(cursor_after(10, 11, 15)) == [16, 17]


def test_the_nearest_of_equal_places_is_taken() -> None:
    cursor = EditCursor(Document("region", "", "", (1, 2, 3, 4, 7, 8, 5, 6, 7, 9)))
    cursor.append([1, 2, 3, 4, 99, 7])
    assert proposed(cursor, 1) == [8]


def test_a_chance_match_far_ahead_is_given_up_for_the_true_place() -> None:
    region = (1, 2, 3, 4, 5, 6, 7, 20, 21, 22, 23, 30)
    cursor = EditCursor(Document("region", "", "", region))
    # Inserted text repeats a later line; then the copy goes on where it had stopped.
    cursor.append([1, 2, 20, 21, 22, 23, 2, 3, 4])
    assert proposed(cursor) == [5, 6, 7]


def test_no_more_than_thirty_two_tokens_are_compared_at_a_place() -> None:
    # A region and an answer that repeat themselves match everywhere, as far back as one looks.
    cursor = EditCursor(Document("region", "", "", (1, 2) * 1000))
    cursor.append([1, 2] * 1000)
    assert cursor._matched(2000) == 32


def test_what_is_known_of_a_copy_is_whether_it_has_changed_and_how_long_ago() -> None:
    assert cursor_after(10, 11).candidate(1).traits == ("cursor changes 0",)
    assert cursor_after(10, 99, 12).candidate(1).traits == (
        "cursor changes 1",
        "cursor since change 2",
    )


def test_the_run_starts_anew_after_a_divergence() -> None:
    assert cursor_after(10, 11, 12, 99).candidate(1).run == 0
    assert cursor_after(10, 11, 12, 99, 14).candidate(1).run == 1


def test_nothing_is_proposed_past_the_end() -> None:
    assert proposed(cursor_after(*REGION)) == []
