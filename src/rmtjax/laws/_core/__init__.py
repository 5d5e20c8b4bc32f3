"""The abstract base classes with every public method, their numerical fall-backs, and forms that several laws share."""
