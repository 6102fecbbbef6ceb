"""Does the model meet two requirements at once, a word count and a keyword, however they are asked for?"""

import pytest


@pytest.mark.wise("multi_constraint")
def test_multi_constraint(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
