"""Does the model hit an exact number of words when told what to avoid or exclude?"""

import pytest


@pytest.mark.wise("avoidance_family")
def test_avoidance_family(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
