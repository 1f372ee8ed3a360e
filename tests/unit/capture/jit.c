/*
 * Recorded processes whose functions were compiled at run time: the functions
 * and callers of every thread's frames. tests/tools/jit_image records one.
 */
#include "lib/jit_image.h"
#include "lib/recorded.h"
#include "lib/test.h"

static const char *const recorded[] = {
	"hotspot11",          "hotspot17",          "hotspot21", "hotspot25",
	"luajit-2022-traces", "luajit-2025-traces", "erlang25",  "erlang27"};

TEST_EACH(a_recorded_process_has_the_frames_it_had, recorded)
{
	recorded_is_read(recorded[_i], jit_image_frames);
}
END

TEST_EACH(memory_that_holds_anything_does_no_harm, recorded)
{
	recorded_is_survived(recorded[_i], jit_image_frames);
}
END

SUITE("jit");
