"""Does the model write without any capital letter however this is asked for?"""

import pytest


@pytest.mark.wise("capitalization")
def test_capitalization(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
