"""Which property of a wording moves exact word counts: polarity, length, place of the target, or register?"""

import pytest


@pytest.mark.wise("factorial_count")
def test_factorial_count(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
