/*
 * The process that forks importers. It reads nothing that clients send.
 */
#pragma once

/* Serves requests of words.h until the other end of the socket is closed. */
_Noreturn void forker_run(int socket);
