"""Tasks: data, model and metric put together for one kind of work each."""
