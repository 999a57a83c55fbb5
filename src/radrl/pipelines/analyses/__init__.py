"""What DEER asks of rollouts: masking (table 6), reward diversity (table 7), token weights (figure 3)."""
