"""Engines that compute: llama.cpp in process. A fake one for tests is in `headway.testing`."""
