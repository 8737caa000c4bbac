"""Why a model predicts what it does, for one row and overall."""
