/* What the tests of tasks share: a client that takes tasks, and what it asks of them. */
#ifndef FERROMCP_TEST_TASKING_H
#define FERROMCP_TEST_TASKING_H

#include "asking.h"

#define WITH_TASKS                                                 \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","   \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}," \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
#define CALL_TASK(id, name) REQUEST(id, "tools/call", "\"name\":\"" name "\"", WITH_TASKS)
#define LEGACY_TASK(id, name) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\",\"task\":{}}}\n"
#define OPTIONAL(name) \
    "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"},\"execution\":{\"taskSupport\":\"optional\"}}"

enum { MOST_ID = 64, MOST_LINE = 1 << 14 };

/* Takes the id of a task out of a message; empty where there is none. */
static inline const char *task_of(const char *line, char id[MOST_ID]) {
    static const char NAME[] = "\"taskId\":\"";
    const char *found = strstr(line, NAME);
    const size_t length = found != NULL ? strcspn(found + sizeof NAME - 1, "\"") : 0;
    CHECK(length > 0 && length < MOST_ID);
    memcpy(id, found != NULL ? found + sizeof NAME - 1 : "", length < MOST_ID ? length : 0);
    id[length < MOST_ID ? length : 0] = '\0';
    return id;
}

/* Writes a request about a task; `members` are what it has besides, each with a comma before it. */
static inline const char *about_task(char line[MOST_LINE], int number, const char *method, const char *id, const char *members) {
    snprintf(line, MOST_LINE,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"taskId\":\"%s\"%s,\"_meta\":{" WITH_TASKS "}}}\n",
             number, method, id, members);
    return line;
}

/* The same for a client of revision 2025-11-25. */
static inline const char *about_legacy_task(char line[MOST_LINE], int number, const char *method, const char *id) {
    snprintf(line, MOST_LINE, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"taskId\":\"%s\"}}\n", number, method,
             id);
    return line;
}

#endif
