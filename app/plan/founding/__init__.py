"""How a cluster comes to have a record: founded, read off what runs, or taken over."""
