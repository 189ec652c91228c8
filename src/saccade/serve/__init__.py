"""HTTP server for models, with dynamic batching and the explorer page. Needs the extra `serve`."""
