/* The client's side of HTTP: one connection for each request, heads, bodies and streams, with a deadline for each read. */
#ifndef FERROMCP_TEST_HTTP_CLIENT_H
#define FERROMCP_TEST_HTTP_CLIENT_H

#include "client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>

#define POST_OF(method, name) "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\nMcp-Name: " name "\r\n"
#define INITIALIZE                                                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"," \
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define LEGACY_TOOL(name) "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"

/* One request and its response. */
struct http {
    int socket, status;
    char head[8192], value[256];
    char text[1 << 16]; /* What of the body was read. */
    char rest[1 << 16]; /* What was received and not used. */
    size_t length;      /* Of `rest`. */
};

/* Receives more; false at the end, and where nothing comes in time. */
static inline int http_receive(struct http *http) {
    const ssize_t length = recv(http->socket, http->rest + http->length, sizeof http->rest - 1 - http->length, 0);
    http->length += length > 0 ? (size_t)length : 0;
    http->rest[http->length] = '\0';
    return length > 0;
}

static inline void http_use(struct http *http, size_t length) {
    http->length -= length;
    memmove(http->rest, http->rest + length, http->length + 1);
}

/* A field of the response's head; empty where it is not there. */
static inline const char *http_header(struct http *http, const char *name) {
    const size_t length = strlen(name);
    http->value[0] = '\0';
    for (const char *line = strstr(http->head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') {
            const char *value = line + 3 + length;
            value += strspn(value, " ");
            snprintf(http->value, sizeof http->value, "%.*s", (int)strcspn(value, "\r"), value);
            break;
        }
    }
    return http->value;
}

static inline int http_connect(unsigned port) {
    struct sockaddr_in address;
    const struct timeval deadline = {DEADLINE_MS / 1000, 0};
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((unsigned short)port);
    const int connected = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(setsockopt(connected, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline) == 0);
    if (connect(connected, (struct sockaddr *)&address, sizeof address) != 0) {
        close(connected);
        return -1;
    }
    return connected;
}

/* Sends a request with these further lines of a head. */
static inline struct http *http_begin(unsigned port, const char *method, const char *lines, const char *body) {
    char head[4096];
    struct http *http = (struct http *)calloc(1, sizeof *http);
    http->socket = http_connect(port);
    snprintf(head, sizeof head,
             "%s /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAccept: application/json, text/event-stream\r\n"
             "Content-Type: application/json\r\nContent-Length: %u\r\n%s\r\n",
             method, port, (unsigned)strlen(body), lines);
    CHECK(send(http->socket, head, strlen(head), MSG_NOSIGNAL) == (ssize_t)strlen(head));
    CHECK(send(http->socket, body, strlen(body), MSG_NOSIGNAL) == (ssize_t)strlen(body));
    return http;
}

/* The same, and waits for the head of its response. */
static inline struct http *http_send(unsigned port, const char *method, const char *lines, const char *body) {
    struct http *http = http_begin(port, method, lines, body);
    char *end = NULL;
    while ((end = strstr(http->rest, "\r\n\r\n")) == NULL && http_receive(http)) {
    }
    CHECK(end != NULL);
    if (end != NULL) {
        snprintf(http->head, sizeof http->head, "%.*s", (int)(end + 2 - http->rest), http->rest);
        http_use(http, (size_t)(end + 4 - http->rest));
        http->status = atoi(http->head + strlen("HTTP/1.1 "));
    }
    return http;
}

/* Reads the next chunk of a stream behind what there is in `text`; false at its end. */
static inline int http_chunk(struct http *http) {
    char *line = NULL;
    while ((line = strstr(http->rest, "\r\n")) == NULL && http_receive(http)) {
    }
    if (line == NULL) {
        return 0;
    }
    const size_t size = strtoul(http->rest, NULL, 16), before = (size_t)(line + 2 - http->rest);
    while (http->length < before + size + 2 && http_receive(http)) {
    }
    const size_t had = strlen(http->text);
    if (size == 0 || http->length < before + size + 2 || had + size >= sizeof http->text) {
        CHECK(size == 0);
        return 0;
    }
    memcpy(http->text + had, http->rest + before, size);
    http->text[had + size] = '\0';
    http_use(http, before + size + 2);
    return 1;
}

/* Reads a stream until it holds the text. */
static inline int http_until(struct http *http, const char *text) {
    while (strstr(http->text, text) == NULL) {
        if (!http_chunk(http)) {
            return holds(http->text, text);
        }
    }
    return 1;
}

/* The whole body. */
static inline const char *http_body(struct http *http) {
    if (http_header(http, "transfer-encoding")[0] != '\0') {
        while (http_chunk(http)) {
        }
        return http->text;
    }
    const size_t length = strtoul(http_header(http, "content-length"), NULL, 10);
    while (http->length < length && http_receive(http)) {
    }
    CHECK(http->length == length);
    return http->rest;
}

static inline void http_close(struct http *http) {
    close(http->socket);
    free(http);
}

/* The status of a request whose response is of no further interest. */
static inline int http_status(unsigned port, const char *method, const char *lines, const char *body) {
    struct http *http = http_send(port, method, lines, body);
    const int status = http->status;
    http_close(http);
    return status;
}

/* Opens a session, and writes the line of a head that names it. */
static inline void http_open_session(unsigned port, char line[300]) {
    struct http *http = http_send(port, "POST", "", INITIALIZE);
    CHECK(http->status == 200 && holds(http_body(http), "\"protocolVersion\":\"2025-11-25\""));
    snprintf(line, 300, "Mcp-Session-Id: %s\r\n", http_header(http, "mcp-session-id"));
    http_close(http);
    CHECK(http_status(port, "POST", line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}") == 202);
}

#endif
