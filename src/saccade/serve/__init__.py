"""The server: models behind HTTP, requests decoded together, and the explorer page. Needs the extra `serve`."""
