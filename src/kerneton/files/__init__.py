"""Everything that touches the disk: a reader per format, folders, summaries, and output that is
written completely or not at all.
"""
