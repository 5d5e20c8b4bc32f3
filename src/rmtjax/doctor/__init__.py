"""What is installed, how it is set, and whether it computes right: `python -m rmtjax.doctor`."""
