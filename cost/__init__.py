"""What it costs: prices, ledger, policies and the gate."""
