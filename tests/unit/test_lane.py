"""One provider's window, pauses and health; times are given, so nothing here waits."""

from __future__ import annotations

import pytest

from wise_pytest.transport.call import Limits
from wise_pytest.transport.lane import Health, Lane, Permit
from wise_pytest.transport.policy import Policy
from wise_pytest.transport.rates import Remaining, remaining, reset_in_s

POLICY = Policy(outage_s=100.0, backoff_s=1.0, max_probe_pause_s=8.0)


def lane(concurrency: int = 8) -> Lane[object]:
    return Lane(Limits(concurrency=concurrency), Health(POLICY))


def start(made: Lane[object], n: int) -> None:
    for _ in range(n):
        made.started()


def hear(made: Lane[object], status: int, *, began: float, now: float, **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    made.heard(status, named, began=began, now=now, wall=0.0)
    made.ended()
    made.closed()


# The window


def test_no_more_are_in_flight_than_the_window_holds():
    made = lane(2)
    assert made.wait_s(0.0) == 0.0
    start(made, 2)
    assert made.wait_s(0.0) is None
    made.ended()  # one pauses between two tries: it may come back, and no other takes its place
    assert made.wait_s(0.0) is None
    assert made.wait_s(0.0, is_new=False) == 0.0
    made.closed()
    assert made.wait_s(0.0) == 0.0


@pytest.mark.parametrize("status", [429, 529])
def test_many_busy_replies_to_one_volley_halve_the_window_once(status: int):
    made = lane(8)
    start(made, 8)
    hear(made, status, began=0.0, now=1.0)
    assert made.window == 4.0
    for _ in range(7):
        hear(made, status, began=0.0, now=1.1)
    assert made.window == 4.0
    start(made, 4)
    hear(made, status, began=2.0, now=3.0)
    assert made.window == 2.0


def test_the_window_never_closes_and_recovers_by_itself():
    made = lane(8)
    for round_ in range(10):
        made.started()
        hear(made, 429, began=round_, now=round_ + 0.5)
    assert made.window == 1.0
    n_good = 0
    while made.window < 8.0:
        made.started()
        hear(made, 200, began=100.0, now=101.0)
        n_good += 1
    # A full window of good replies widens it by about one: 1 + 2 + … + 7 and a few.
    assert 28 <= n_good <= 40
    assert made.window == 8.0


def test_other_errors_do_not_narrow_it():
    made = lane(8)
    start(made, 3)
    for status in (500, 400, 404):
        hear(made, status, began=0.0, now=1.0)
    assert made.window == 8.0


# Pauses


def test_a_pause_holds_for_all_until_a_later_request_is_served():
    made = lane()
    start(made, 2)
    made.pause(30.0, 10.0)
    assert made.wait_s(11.0) == 29.0
    hear(made, 200, began=9.0, now=12.0)  # sent before the pause was asked for
    assert made.wait_s(12.0) == 28.0
    hear(made, 200, began=13.0, now=14.0)
    assert made.wait_s(14.0) == 0.0


def test_what_a_provider_still_takes_is_not_exceeded():
    made = lane()
    made.started()
    hear(
        made,
        200,
        began=0.0,
        now=10.0,
        x_ratelimit_remaining_requests="2",
        x_ratelimit_reset_requests="6s",
    )
    assert made.wait_s(10.0) == 0.0
    start(made, 2)
    assert made.wait_s(11.0) == 5.0
    assert made.wait_s(16.0) == 0.0


def test_tokens_that_are_left_hold_back_a_request_that_needs_more():
    made = lane()
    made.started()
    left = {"anthropic_ratelimit_tokens_remaining": "150", "anthropic_ratelimit_tokens_reset": "4"}
    hear(made, 200, began=0.0, now=0.0, **left)
    assert made.wait_s(0.0, n_tokens=100) == 0.0
    made.started(n_tokens=100)
    assert made.wait_s(0.0, n_tokens=100) == 4.0


def test_the_limits_of_a_day_are_not_waited_for():
    made = lane()
    made.started()
    hear(made, 200, began=0.0, now=0.0, x_ratelimit_remaining_requests="0", x_ratelimit_reset_requests="9h")
    assert made.wait_s(0.0) == 0.0


# Health


def fail(health: Health, at: float, *, exhausted: bool = False) -> None:
    health.failed(Permit(), began=at - 0.1, now=at, trouble="no connection", exhausted=exhausted)


def test_a_provider_that_has_replied_is_down_after_three_failures_in_a_row():
    health = Health(POLICY)
    health.replied(0.0)
    fail(health, 1.0)
    fail(health, 1.1)
    assert health.may_try(1.2)
    health.replied(1.3)
    for at in (2.0, 2.1, 2.2):
        assert health.may_try(at)
        fail(health, at)
    assert not health.may_try(2.3)
    assert not health.given_up(2.3)


def test_one_that_is_down_is_tried_by_one_at_a_time_and_ever_more_seldom():
    health = Health(POLICY)
    health.replied(0.0)
    for at in (1.0, 1.0, 1.0):
        fail(health, at)
    distances, last, at = [], 1.0, 1.0
    while len(distances) < 6:
        at += 0.5
        if permit := health.may_try(at):
            assert not health.may_try(at)  # while the first is under way
            distances.append(at - last)
            last = at
            health.failed(permit, began=at, now=at, trouble="no connection", exhausted=False)
    assert distances == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    health.replied(at + 1)
    assert health.may_try(at + 1)


def down_at(at: float) -> Health:
    health = Health(POLICY)
    health.replied(at - 1.0)
    for _ in range(3):
        fail(health, at)
    return health


def test_a_probe_that_is_its_calls_last_try_lets_another_probe_follow():
    """Its call's first try was sent before somebody else was served, which says nothing of now."""
    health = down_at(10.0)
    permit = health.may_try(11.0)
    assert permit is not None
    health.failed(permit, began=8.0, now=11.5, trouble="no connection", exhausted=True)
    assert not health.may_try(13.4)
    assert health.may_try(13.5)  # twice the first pause


def test_many_that_fail_together_put_the_first_probe_off_once():
    health = down_at(10.0)
    for _ in range(32):
        fail(health, 10.0, exhausted=True)
    assert health.may_try(11.0)


def test_whoever_was_sent_before_ends_no_probe_that_is_out():
    health = down_at(10.0)
    permit = health.may_try(11.0)
    fail(health, 11.5, exhausted=True)
    health.unprobed(None)
    health.unprobed(Permit())
    assert not health.may_try(50.0)
    health.unprobed(permit)
    assert health.may_try(50.0)


def test_a_permit_ends_when_the_provider_goes_down():
    health = Health(POLICY)
    health.replied(0.0)
    early = health.may_try(0.5)
    assert early is not None
    assert health.holds(early)
    for _ in range(3):
        fail(health, 1.0)
    assert not health.holds(early)
    probe = health.may_try(2.0)
    assert probe is not None
    assert health.holds(probe)


def test_an_outage_is_waited_for_and_then_given_up():
    health = Health(POLICY)
    health.replied(0.0)
    for _ in range(3):
        fail(health, 10.0)
    assert not health.given_up(109.9)
    assert health.given_up(110.0)


def test_one_that_has_never_replied_is_given_up_with_its_first_call():
    health = Health(POLICY)
    for at in (1.0, 2.0, 3.0, 4.0):
        fail(health, at)
        assert health.may_try(at)  # the call that is under way keeps its tries
    fail(health, 5.0, exhausted=True)
    assert health.given_up(5.0)
    assert not health.may_try(5.5)
    assert health.may_try(6.0)  # now and then somebody looks whether it has come


def test_a_failure_while_others_are_served_says_nothing_of_the_provider():
    health = Health(POLICY)
    health.replied(5.0)
    for _ in range(5):
        health.failed(Permit(), began=4.0, now=6.0, trouble="cut", exhausted=True)
    assert health.down_since is None


# Headers


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0),
        ("76ms", 0.076),
        ("1h2m3.5s", 3723.5),
        ("250us", 0.00025),
        ("12", 12.0),
        ("1.5", 1.5),
        ("1970-01-01T00:01:40Z", 90.0),
        ("1970-01-01T00:00:01Z", 0.0),
        ("1970-01-01T00:01:40", None),  # whose time?
        ("", None),
        ("soon", None),
        ("6m0s!", None),
        ("1796040374", None),  # a time, and not for how long
    ],
)
def test_when_a_limit_is_lifted(text: str, seconds: float | None):
    assert reset_in_s(text, 10.0) == (None if seconds is None else pytest.approx(seconds))


def test_only_limits_that_are_named_in_full_are_obeyed():
    headers = {
        "x-ratelimit-remaining-requests": "3",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-tokens": "many",
        "x-ratelimit-reset-tokens": "1s",
        "anthropic-ratelimit-tokens-remaining": "7",
    }
    assert list(remaining(headers, 0.0)) == [Remaining("requests", 3, 1.0)]
