/* Carries one file inside the program: NAME[] and NAME_len. */
#define CAT(a, b) a##b
#define LEN(a)	  CAT(a, _len)
	.section .rodata
	.global NAME
	.balign 16
NAME:
	.incbin FILE
end:
	.byte 0
	.balign 8
	.global LEN(NAME)
LEN(NAME):
	.quad end - NAME
	.section .note.GNU-stack, "", %progbits
