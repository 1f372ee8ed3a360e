#include "interrupt.h"

#include <stddef.h>

volatile sig_atomic_t interrupted;

static void
on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

void
interrupt_catch(void)
{
	struct sigaction sa = {
		.sa_handler = on_interrupt,
		.sa_flags = (int)SA_RESETHAND,
	};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}
