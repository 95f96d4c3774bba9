"""SCK and DCK, exact and linearised: signals, feature maps, tensor sums, power normalisation,
vectorisation.
"""
