"""What a recording is: sequences, skeleton layouts, mapping between layouts, and the one gate that checks input."""
