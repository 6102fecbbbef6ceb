"""Does the model give three named parts in the given order however this is asked for?"""

import pytest


@pytest.mark.wise("ordering")
def test_ordering(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
