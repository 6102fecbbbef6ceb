"""Does the model cite exactly once, in the given form, however this is asked for?"""

import pytest


@pytest.mark.wise("citation_format")
def test_citation_format(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
