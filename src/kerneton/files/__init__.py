"""Everything that touches the disk: a reader per format, folders, summaries, output that appears whole, model archives."""
