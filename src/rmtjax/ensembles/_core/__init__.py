"""What an ensemble is: the three abstract bases with every public method, and what several families share."""
