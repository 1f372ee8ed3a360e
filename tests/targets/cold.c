/*
 * An interpreter that the compiler splits, since a part of it seldom runs. As a
 * library it has the symbols by which CPython 3.14 is recognised.
 */
#include <stdlib.h>

int _PyRuntime, PyCode_Type, PyUnicode_Type, PyBytes_Type;
unsigned long Py_Version = 0x030e00f0;

__attribute__((cold, noinline)) void
report(int what)
{
	if (what > 100)
		abort();
	_PyRuntime += what;
}

#define SELDOM(i)                         \
	if (p[i] < 0) {                   \
		report(i);                \
		sum += _PyRuntime * p[i]; \
	}

int
_PyEval_EvalFrameDefault(const int *p)
{
	int sum = 0;

	SELDOM(0)
	SELDOM(1)
	SELDOM(2)
	SELDOM(3)
	SELDOM(4)
	SELDOM(5)
	SELDOM(6)
	SELDOM(7)
	return sum;
}

int
main(int argc, char **argv)
{
	int p[8] = {argc};

	(void)argv;
	return _PyEval_EvalFrameDefault(p);
}
