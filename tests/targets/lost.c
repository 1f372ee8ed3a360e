/*
 * Works in code from which no caller can be found: it has no unwind table and
 * no frame pointer, and returns through a register.
 *
 * 	lost SECONDS	prints "ready" first
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void lost_work(long times);

__asm__(".text\n"
        ".globl lost_work\n"
        ".type lost_work, @function\n"
        "lost_work:\n"
        "	push %rbx\n"
        "	push %rbp\n"
        "	mov $1, %ebp\n"
        "	mov %rdi, %rbx\n"
        "	lea 2f(%rip), %rcx\n"
        "	lea 1f(%rip), %rdx\n"
        "1:	mov %rdx, %rax\n"
        "	dec %rbx\n"
        "	cmovz %rcx, %rax\n"
        "	jmp *%rax\n"
        "2:	pop %rbp\n"
        "	pop %rbx\n"
        "	ret\n"
        ".size lost_work, . - lost_work\n");

int
main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);

	puts("ready");
	fflush(stdout);
	while (time(NULL) < end)
		lost_work(10000000);
	return 0;
}
