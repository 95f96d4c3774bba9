"""Evaluation, report, plots and the HTML page."""
