/*
 * Keeps memory from C++'s operators in several functions, and writes to FILE
 * what each function keeps: lines "FUNCTION OBJECTS BYTES".
 *
 * 	newing FILE [aborts]	the operator ends the program when it fails
 */
#include <cstdio>
#include <new>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

namespace
{
constexpr int EACH = 4000; // objects that a function makes

struct alignas(64) aligned {
	char bytes[15040];
};
struct plain {
	char bytes[40000];
};

void *volatile kept;

NOINLINE void
keep_object()
{
	kept = new plain;
}

NOINLINE void
keep_array()
{
	kept = new char[25000];
}

NOINLINE void
keep_aligned()
{
	kept = new aligned;
}

NOINLINE void
keep_if_any()
{
	kept = new (std::nothrow) char[10000];
}

/* Every form of delete. */
NOINLINE void
throw_away()
{
	delete new plain;
	delete[] new char[50000];
	delete new aligned;
	delete[] new aligned[2];
	::operator delete(::operator new(50000));
	::operator delete(::operator new(50000, std::nothrow), std::nothrow);
}

NOINLINE void
keep_all()
{
	for (int i = 0; i < EACH; i++) {
		keep_object();
		keep_array();
		keep_aligned();
		keep_if_any();
		throw_away();
	}
}

/* The exception of a failing operator must pass whatever allocator lies
 * between. */
NOINLINE bool
throws()
{
	try {
		kept = ::operator new(static_cast<size_t>(-1) / 4);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}
} // namespace

int
main(int argc, char **argv)
{
	FILE *out = argc > 1 ? fopen(argv[1], "w") : nullptr;

	keep_all();
	if (!out || (argc < 3 && !throws()))
		return 1;
	fprintf(out, "keep_object %d %zu\n", EACH, EACH * sizeof(plain));
	fprintf(out, "keep_array %d %d\n", EACH, EACH * 25000);
	fprintf(out, "keep_aligned %d %zu\n", EACH, EACH * sizeof(aligned));
	fprintf(out, "keep_if_any %d %d\n", EACH, EACH * 10000);
	if (fclose(out))
		return 1;
	printf("%d\nready\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
