"""The vectors of `tests/vectors` on the Python door.

`text` reads JSON and keeps its spelling, `pattern` compares, `plan` says what is left out, `host` does what
the vectors' handlers do, `door` declares and serves them, `script` is the client that goes through the steps.
"""
