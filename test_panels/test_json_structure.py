"""Does the model answer with the bare JSON object that was asked for, however it is asked for?"""

import pytest


@pytest.mark.wise("json_structure")
def test_json_structure(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
