"""The data of each workload, made once in every format that a peer reads."""
