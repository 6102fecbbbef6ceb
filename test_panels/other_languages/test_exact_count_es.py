"""Does the model hit an exact number of words however the number is asked for, in Spanish?"""

import pytest


@pytest.mark.wise("exact_count_es")
def test_exact_count_es(wise):
    answer = wise.ask()  # calls the model, or replays its recording
    wise.score(answer)  # verifies the complete visible output; a miss is data, not a failure
