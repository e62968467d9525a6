/* What a C compiler makes of the header is what the library was compiled with. */
#include "check.h"
#include "ferromcp.h"

#define FMCP_LAYOUT(what, value) CHECK((what) == (value));

int main(void) {
#include "layout.h"
    return check_report("layout");
}
