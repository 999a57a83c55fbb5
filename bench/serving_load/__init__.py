"""What a policy's server and `radrl ui` do under load, with requests among it that are none."""
