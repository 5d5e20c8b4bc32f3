"""The scripts here are read by checkers; pytest would run them when it looks for doctests."""

collect_ignore = ["usage.py", "mistakes.py"]
