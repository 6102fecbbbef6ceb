"""Does the model stay within 8 to 12 words however the range is asked for?"""

import pytest


@pytest.mark.wise("length_range")
def test_length_range(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
