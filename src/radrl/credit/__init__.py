"""Credit: how a report's advantage is spread over its tokens (DiTPO, DEER eq. 6)."""
