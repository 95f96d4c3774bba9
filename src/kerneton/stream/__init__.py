"""Long recordings and live streams: which action happens, and when."""
