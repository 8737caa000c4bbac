"""Controls that several pages share."""
