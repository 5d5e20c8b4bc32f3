"""What a law is: the abstract bases with every public method, their numerical fall-backs, and shared shapes of laws."""
