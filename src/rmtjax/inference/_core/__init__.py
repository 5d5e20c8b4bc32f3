"""What every decision begins with: a checked data matrix, without its mean, and the spectrum of its covariance."""
