/*
 * An importer reads files, one after the other, until the other end of its
 * socket is closed.
 */
#pragma once

_Noreturn void reading_run(int socket);
