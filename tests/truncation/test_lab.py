"""The lab recommends the best step for each limit, and says why."""

from __future__ import annotations

from promptls.truncation.candidates import Findings, LabQuestion, candidate_limits, candidate_steps, explore
from promptls.truncation.prefix_cache import CACHES, Chat, Piece


def growing_chat(turns: int, size: int = 40, fixed: int = 100, priority: object = 1) -> Chat:
    system = Piece("system", "system", fixed, 0)
    messages = [Piece(f"message {index}", "user", size, priority) for index in range(turns)]
    shown = tuple((0, *range(1, count + 1)) for count in range(1, turns + 1))
    return Chat("row 1", "chats.jsonl", 0, (system, *messages), shown)


def found(chat: Chat, question: LabQuestion, cache: str = "exact") -> Findings:
    return explore([chat], question, CACHES[cache], [lambda _first, _second: 0])


def test_the_best_step_has_the_highest_score_under_its_limit() -> None:
    result = found(growing_chat(60), LabQuestion(limit=800, step=50))
    best = {each["limit"]: each["step"] for each in result.best}
    for limit in result.limits:
        cells = {cell["step"]: cell["score"] for cell in result.cells if cell["limit"] == limit}
        step = best[limit]
        assert step is not None
        assert cells[step] >= max(cells.values()) - 0.006
    assert result.advice == next(each["reason"] for each in result.best if each["limit"] == 800)
    assert "where a step of 50 tokens reads" in result.advice


def test_a_chat_that_stays_under_the_limit_takes_any_step() -> None:
    result = found(growing_chat(5), LabQuestion(limit=800, step=50))
    assert result.best == [
        {
            "limit": 800,
            "step": None,
            "reason": "The chat never reaches 800 tokens, so that any step does.",
        }
    ]


def test_a_chat_of_which_nothing_may_be_cut_has_no_best_step() -> None:
    result = found(growing_chat(30, priority=0), LabQuestion(limit=800, step=50))
    assert {each["step"] for each in result.best if each["limit"] <= 800} == {None}
    assert "no part has a positive `truncation_priority`" in result.advice


def test_a_cache_that_keeps_only_long_beginnings_makes_the_smallest_step_best() -> None:
    result = found(growing_chat(60), LabQuestion(limit=800, step=None), "openai")
    assert next(each["step"] for each in result.best if each["limit"] == 800) == 1
    assert "from 1,024 tokens on, in steps of 128 only" in result.advice


def test_the_limits_and_steps_that_are_asked_for_are_tried() -> None:
    result = found(growing_chat(30), LabQuestion(None, None, limits=(300, 500), steps=(50, 200)))
    assert [(cell["limit"], cell["step"]) for cell in result.cells] == [
        (limit, step) for limit in (300, 500) for step in (1, 50, 200)
    ]


def test_what_is_removed_is_told_as_runs_of_places() -> None:
    result = found(growing_chat(6), LabQuestion(200, None, limits=(200,), steps=(100,)))
    removed = next(cell["turns"]["removed"] for cell in result.cells if cell["step"] == 100)
    assert removed == [[], [], [1, 3], [1, 3], [1, 3], [1, 5]]


def test_a_changing_part_before_the_chat_is_reported() -> None:
    pieces = (
        Piece("rules", "system", 500, 0),
        Piece("clock", "system", 9, 0),
        Piece("clock", "system", 9, 0),
        Piece("a", "user", 100, 1),
        Piece("b", "user", 100, 1),
    )
    chat = Chat("row 1", "here", 0, pieces, ((0, 1, 3), (0, 2, 3, 4)))
    assert found(chat, LabQuestion(600, 10)).unstable == {"part": "clock", "tokens": 500}
    assert found(growing_chat(4), LabQuestion(600, 10)).unstable is None


def test_candidates_are_round_and_include_the_configured_step() -> None:
    assert candidate_steps(2000, 130) == (1, 40, 100, 130, 200, 300, 400, 500, 600, 800, 1000, 1200, 1500)
    assert candidate_limits(2000, 3500) == (1000, 1500, 2000, 3000)
    assert candidate_limits(2000, 500) == (2000,)
    assert candidate_limits(None, 4321) == (1100, 2200, 3200)
