"""The Rashomon set: different trees that score nearly as well as the best."""
