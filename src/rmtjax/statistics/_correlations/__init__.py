"""Several levels at once: how their number in an interval fluctuates."""
