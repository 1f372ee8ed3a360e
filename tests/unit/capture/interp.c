/*
 * Recorded processes of each language: every thread's frames, their functions,
 * files and lines. tests/tools/interp_image records one.
 */
#include "lib/interp_image.h"
#include "lib/recorded.h"
#include "lib/test.h"

static const char *const recorded[] = {
#define PYTHON(minor, ...) "python3." #minor,
#include "capture/python/python_versions.def"
#undef PYTHON
#define RUBY(version, ...) "ruby" #version,
#include "capture/ruby/ruby_versions.def"
#undef RUBY
#define LIVE(name)     name,
#define RECORDED(name) name,
#define UNTRIED(name)
#define PHP(version, api, current, file, tested) tested("php" #version)
#include "capture/php/php_versions.def"
#undef PHP
#define PERL(version, minor, here, names, statement, tested) \
	tested("perl" #version)
#include "capture/perl/perl_versions.def"
#undef PERL
	"python3.8-tasks",
	"python3.9-tasks",
	"python3.10-tasks",
	"python3.11-tasks",
	"python3.12-tasks",
	"python3.13-tasks",
	"python3.14-tasks",
	"perl5.40-unthreaded",
	"luajit-2022",
	"luajit-2023",
	"luajit-2025",
};

TEST_EACH(a_recorded_process_has_the_frames_it_had, recorded)
{
	recorded_is_read(recorded[_i], interp_image_frames);
}
END

TEST_EACH(memory_that_holds_anything_does_no_harm, recorded)
{
	recorded_is_survived(recorded[_i], interp_image_frames);
}
END

SUITE("interp");
