"""Evaluation, report, pictures and the HTML page."""
