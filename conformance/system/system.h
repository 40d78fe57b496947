/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every service that Linux has and POSIX has not, or not yet everywhere: one
 * function each, with what is done instead on another system, and on Linux
 * where /proc is not mounted.  -DMXO_POSIX_ONLY builds the other way on Linux.
 */
#ifndef MXO_SYSTEM_H
#define MXO_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct msghdr;

/* Note where the program is, from argv[0]; main() says it before anything
   changes the working directory. */
void system_note_program(const char *argv0);
/* A name under which this program can be opened and started; NULL: unknown. */
const char *system_program(void);
/* This program's name, for the argv[0] of processes that it starts. */
const char *system_program_name(void);
/* Its path without links. 0, or -1: unknown. */
int system_program_path(char *path, size_t size);

/* Starts this program anew, once, so that threads that wait for work sleep
   instead of looping: OpenMP's library reads how before main().  Whoever set
   OMP_WAIT_POLICY decides. */
void system_wait_asleep(char **argv);

/* Two connected stream sockets, or a pipe, that no new program inherits. 0, or
   -1 with errno set. */
int system_socket_pair(int ends[2]);
int system_pipe(int ends[2]);
/* From now on messages tell who sent them, where the system can. 0, or -1 with
   errno set. */
int system_ask_sender(int socket);
/* Flags of recvmsg() for which system_sender() is made. */
int system_receive_flags(void);
/* Sender of a message; 0: unknown. Descriptors in it are closed. */
pid_t system_sender(struct msghdr *message);

/* Other processes of this user may not read this one's memory from now on. */
void system_hide_memory(void);
/* This process is killed when its parent ends. */
void system_end_with_parent(void);
/* Bytes that nobody can guess. 0, or -1. */
int system_random(uint8_t *bytes, size_t n);
/* Cores that this process may use, at least 1. */
unsigned system_cores(void);
/* Bytes of memory that nobody needs now; UINT64_MAX: unknown. */
uint64_t system_free_memory(void);
/* This open file is no other's from now on.  Waits for two seconds: a process
   that was killed may have left the lock to one that it had begun to start. 0,
   or -1: another holds it. */
int system_lock(int fd);
/* Descriptors that are open, give or take a constant. */
int system_open_files(void);
/* Do these n bytes lie at this address of this process?  Any address may be
   asked about. n at most 64. */
int system_sees(const void *address, const uint8_t *bytes, size_t n);

/* A file in memory that cannot be made smaller, where the system has such, for
   mapping into two processes. Its descriptor, or -1 with errno set. */
int system_memory_file(void);
/* The mapping of the whole file once it has size bytes; base is the one of
   old_size bytes, or NULL. NULL: there is no room, and base is as it was. */
void *system_map_again(int fd, void *base, size_t old_size, size_t size);
/* The file's bytes from there on are not needed; they may be read as 0. */
void system_drop_bytes(int fd, uint64_t from, uint64_t n_bytes);
/* Mapped bytes of a file that were read need not stay in memory. */
void system_forget(const void *address, size_t n_bytes);

/* A new file in folder that has no name yet. Its descriptor, or -1. */
int system_nameless_file(const char *folder);
/* Its name. 0, or -1 with errno set. */
int system_name_file(int fd, const char *path);

#endif
