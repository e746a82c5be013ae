"""Recovery from a lost quorum, and from the loss of all data: by order, or by itself on proof."""
