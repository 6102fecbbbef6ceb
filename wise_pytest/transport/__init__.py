"""The way to the wire and back: one client, one layer of retries, one place that VCR.py can record at.

Nothing here is loaded before a test asks for a generation.
"""
