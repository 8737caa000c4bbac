"""What the service survives: processes killed, disks full, rows damaged."""
