/* The client's side of a server in the same process: two pipes, lines, and a deadline for each. */
#ifndef FERROMCP_TEST_CLIENT_H
#define FERROMCP_TEST_CLIENT_H

#include "check.h"
#include "ferromcp.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* What makes a request one of revision 2026-07-28; `PROGRESS` asks for progress too. */
#define MODERN                                                  \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define PROGRESS "\"progressToken\":\"t\",\"io.modelcontextprotocol/logLevel\":\"debug\"," MODERN
#define REQUEST(id, method, members, meta) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" members ",\"_meta\":{" meta "}}}\n"
#define CALL_TOOL(id, name, arguments) \
    REQUEST(id, "tools/call", "\"name\":\"" name "\",\"arguments\":" arguments, MODERN)
#define TOOL(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"

/* Milliseconds for anything that is waited for. Only a test that fails waits for so long. */
enum { DEADLINE_MS = 20000 };

struct client {
    int input, output; /* The client's ends. */
    char line[1 << 16];
    char rest[1 << 16];
    size_t length; /* Of `rest`. */
};

/* Starts the server with this client on the other side. */
static inline void client_start(struct client *client, fmcp_server *server) {
    int to_server[2], to_client[2];
    CHECK(pipe(to_server) == 0 && pipe(to_client) == 0);
    CHECK(fmcp_server_start_fds(server, to_server[0], to_client[1], FMCP_NONE, NULL) == FMCP_STATUS_OK);
    close(to_server[0]);
    close(to_client[1]);
    client->input = to_server[1];
    client->output = to_client[0];
    client->length = 0;
}

static inline void client_send(struct client *client, const char *text) {
    const size_t length = strlen(text);
    CHECK(write(client->input, text, length) == (ssize_t)length);
}

/* The next line without its end; empty when there is none in time. */
static inline const char *client_line(struct client *client) {
    char *end;
    while ((end = (char *)memchr(client->rest, '\n', client->length)) == NULL) {
        struct pollfd readable = {client->output, POLLIN, 0};
        ssize_t length = 0;
        if (poll(&readable, 1, DEADLINE_MS) == 1) {
            length = read(client->output, client->rest + client->length, sizeof client->rest - client->length);
        }
        if (length <= 0) {
            return "";
        }
        client->length += (size_t)length;
    }
    const size_t length = (size_t)(end - client->rest);
    memcpy(client->line, client->rest, length);
    client->line[length] = '\0';
    client->length -= length + 1;
    memmove(client->rest, end + 1, client->length);
    return client->line;
}

/* Sends a request and gives the next line. */
static inline const char *client_ask(struct client *client, const char *request) {
    client_send(client, request);
    return client_line(client);
}

/* Ends the input, and waits for the server's end. */
static inline void client_end(struct client *client, fmcp_server *server) {
    close(client->input);
    CHECK(fmcp_server_wait(server, NULL) == FMCP_STATUS_OK);
    CHECK(client_line(client)[0] == '\0');
    close(client->output);
}

/* Waits until the library's threads have ended: a server that was freed has told them to, and what they hold would look lost.
 * Where the system does not tell of threads, there is nothing to wait for. */
static inline void client_threads_end(void) {
    for (int waited = 0; waited < DEADLINE_MS; waited++) {
        DIR *threads = opendir("/proc/self/task");
        int count = 0;
        while (threads != NULL && readdir(threads) != NULL) {
            count++;
        }
        /* This thread, and the entries of the folder itself. */
        if (threads == NULL || (closedir(threads) == 0 && count <= 3)) {
            return;
        }
        poll(NULL, 0, 1);
    }
    CHECK(!"threads of the library go on");
}

/* True when the line holds the text. */
static inline int holds(const char *line, const char *text) {
    const int found = strstr(line, text) != NULL;
    if (!found) {
        fprintf(stderr, "not in %s\n", line);
    }
    return found;
}

#endif
