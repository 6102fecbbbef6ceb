"""Does the model use a given word exactly once however this is asked for?"""

import pytest


@pytest.mark.wise("keyword_once")
def test_keyword_once(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
