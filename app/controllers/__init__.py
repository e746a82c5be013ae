"""Which watches wake which key, and the loop from a key to a look, a decision and its acts."""
