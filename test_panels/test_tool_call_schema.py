"""Does the model answer with a bare, valid function call however this is asked for?"""

import pytest


@pytest.mark.wise("tool_call_schema")
def test_tool_call_schema(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
