"""Ours, with plain annotations and nothing asynchronous: what its start costs is measured."""

from ferromcp import Server

server = Server("bench", version="1")


@server.tool
def echo(text: str) -> str:
    """Echo"""
    return text


if __name__ == "__main__":
    server.run()
