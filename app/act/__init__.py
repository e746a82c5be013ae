"""I/O out: carries out what a plan asks for. It decides nothing."""
