"""The three abstract base classes with every public method, and the code that several families share."""
