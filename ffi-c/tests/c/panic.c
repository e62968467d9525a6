/* A panic inside the library comes back as an error. Linked to the build that has an export which panics. */
#include "check.h"
#include "ferromcp.h"

fmcp_status fmcp_test_panic(fmcp_error **err);

int main(void) {
    fmcp_error *error = NULL;
    CHECK(fmcp_test_panic(&error) == FMCP_STATUS_PANIC);
    CHECK(fmcp_error_status(error) == FMCP_STATUS_PANIC);
    CHECK(TEXT_IS(fmcp_error_text(error), "on purpose"));
    CHECK(fmcp_error_code(error) == 0);
    CHECK(fmcp_error_id(error).data == NULL);
    fmcp_error_free(error);
    CHECK(fmcp_test_panic(NULL) == FMCP_STATUS_PANIC);
    /* The library goes on. */
    fmcp_server *server = NULL;
    CHECK(fmcp_server_new(fmcp_text_of("a"), fmcp_text_of("1"), &server, NULL) == FMCP_STATUS_OK);
    fmcp_server_free(server);
    return check_report("panic");
}
