"""What a recording is: sequences, skeleton layouts, mapping between layouts, and the validation of
all input.
"""
