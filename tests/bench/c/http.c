/* Addition over HTTP on the port that is named, for the measurements. */
#include <ferromcp.h>

#include <inttypes.h>
#include <stdio.h>

static const char ADD[] = "{\"name\":\"add\",\"description\":\"Add two integers\",\"inputSchema\":{\"type\":\"object\","
                          "\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},"
                          "\"required\":[\"a\",\"b\"]}}";

static void add(fmcp_call *call, void *user_data) {
    (void)user_data;
    int64_t a = 0, b = 0;
    const int fits = fmcp_call_integer(call, "a", &a, NULL) == FMCP_STATUS_OK &&
                     fmcp_call_integer(call, "b", &b, NULL) == FMCP_STATUS_OK;
    if (!fits || (b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) {
        fmcp_call_tool_error(call, fmcp_text_of("the sum does not fit into 64 bits"), NULL);
        return;
    }
    char sum[32];
    snprintf(sum, sizeof sum, "%" PRId64, a + b);
    fmcp_call_respond_text(call, fmcp_text_of(sum), NULL);
}

int main(int argc, char **argv) {
    fmcp_server *server = NULL;
    fmcp_error *error = NULL;
    char options[64];
    snprintf(options, sizeof options, "{\"port\":%.8s,\"announce\":false}", argc > 1 ? argv[1] : "8000");
    fmcp_status status = fmcp_server_new(fmcp_text_of("bench"), fmcp_text_of("1"), &server, &error);
    if (status == FMCP_STATUS_OK) {
        status = fmcp_server_add_tool(server, fmcp_text_of(ADD), add, NULL, NULL, &error);
    }
    if (status == FMCP_STATUS_OK) {
        status = fmcp_server_run_http(server, fmcp_text_of(options), &error);
    }
    if (status != FMCP_STATUS_OK) {
        const fmcp_text text = fmcp_error_text(error);
        fprintf(stderr, "%.*s\n", (int)text.len, text.data);
        fmcp_error_free(error);
    }
    fmcp_server_free(server);
    return status == FMCP_STATUS_OK ? 0 : 1;
}
