"""Statistics of the audit: numbers in, frozen results out.

``audit`` calls these; nothing here knows rows, files, pandas or pytest.
Rates stay exact (integer counts, fractions) up to the moment they are written
down, so that no result depends on an order of summation.
"""
