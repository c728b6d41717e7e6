"""A real model under the same scheduler, behind an OpenAI-compatible API; needs the extra `serve`."""
