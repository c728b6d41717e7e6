"""Past-Future Scheduler for LLM Serving under SLA Guarantees (ASPLOS 2025), done again."""
