/* What the tests of asking share: a client with all capabilities, its retries, and a question. */
#ifndef FERROMCP_TEST_ASKING_H
#define FERROMCP_TEST_ASKING_H

#include "client.h"

#define ALL "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{}},\"roots\":{}}"
#define CAPABLE                                                  \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":" ALL
#define CALL_CAPABLE(id, name) REQUEST(id, "tools/call", "\"name\":\"" name "\"", CAPABLE)
#define LEGACY(capabilities)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
    "\"2025-11-25\",\"capabilities\":" capabilities ",\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
#define LEGACY_CALL(id, name) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}\n"

#define SCHEMA "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}"
#define FORM "{\"message\":\"Who?\",\"requestedSchema\":" SCHEMA "}"
#define ADA "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"
#define MESSAGE "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"x\"},\"model\":\"m\"}"

enum { MOST_STATE = 4096 };

/* Takes the `requestState` out of a message; empty where there is none. */
static inline const char *state_of(const char *line, char state[MOST_STATE]) {
    static const char NAME[] = "\"requestState\":\"";
    const char *found = strstr(line, NAME);
    size_t length = 0;
    if (found != NULL) {
        found += sizeof NAME - 1;
        length = strcspn(found, "\"");
    }
    CHECK(length > 0 && length < MOST_STATE);
    memcpy(state, found != NULL ? found : "", length < MOST_STATE ? length : 0);
    state[length < MOST_STATE ? length : 0] = '\0';
    return state;
}

/* Writes the request with which a client comes back to the call of a tool. */
static inline const char *retry(char line[1 << 14], int id, const char *tool, const char *state, const char *responses) {
    snprintf(line, 1 << 14,
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"requestState\":\"%s\","
             "\"inputResponses\":%s,\"_meta\":{" CAPABLE "}}}\n",
             id, tool, state, responses);
    return line;
}

#endif
