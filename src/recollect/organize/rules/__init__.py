"""The offline brain: it finds durable statements by rule, and files them. No model, no network."""
