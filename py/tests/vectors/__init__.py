"""The vectors on the Python door: `pattern` compares, `behaviour` is the server, `runner` the client."""
