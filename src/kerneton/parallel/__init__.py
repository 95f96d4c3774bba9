"""Threads of this process, and how much memory there is."""
