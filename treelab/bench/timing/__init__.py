"""How long a step of each operator takes, beside its dense formulation."""
