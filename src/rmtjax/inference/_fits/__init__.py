"""Parameters of laws from levels, with standard errors."""
