"""From a request to the model's prompt, and from the model's answer to a result."""
