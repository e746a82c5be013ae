"""Changes of the membership: who is added, promoted, removed, through whom, and when not."""
