"""What encoded images say of themselves in their first bytes."""
