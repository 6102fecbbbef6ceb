"""Does a longer instruction, or a target named later, change the count that comes back?"""

import pytest


@pytest.mark.wise("constructional_controls")
def test_constructional_controls(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
